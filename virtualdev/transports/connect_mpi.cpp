#include <algorithm>
#include <optional>

#include "runtime/base/error.h"
#include "virtualdev/transports/connect.h"

namespace shardlab {
namespace {

// What a process says of itself: its job of Open MPI and its rank there, "-" where it has none.
std::string own_place() {
  std::string job = MpiSession::job();
  return job.empty() ? "-" : fmt::format("{} {}", job, MpiSession::job_rank());
}

std::string key_of(comm::ProcessIndex process) { return fmt::format("shardlab/mpi/{}", process); }

}  // namespace

std::vector<int> mpi_ranks(const TransportOptions& options) {
  SL_CHECK(options.rendezvous != nullptr, "no rendezvous to agree on MPI");
  options.rendezvous->set(key_of(options.process_index), own_place());
  std::vector<int> ranks;
  std::string job;
  bool together = true;  // every process asks for every place, so that all see the same
  for (int p = 0; p < options.num_processes; ++p) {
    std::string place = options.rendezvous->get(key_of(p), options.limit);
    std::size_t space = place.find(' ');
    together = together && space != std::string::npos && (p == 0 || place.substr(0, space) == job);
    if (!together) continue;
    job = place.substr(0, space);
    ranks.push_back(std::stoi(place.substr(space + 1)));
  }
  // MPI begins and ends for all of its job: others in it, which know nothing of ours, would be waited for.
  if (!together || int(ranks.size()) != MpiSession::job_size()) return {};
  return ranks;
}

void connect_by_mpi(const std::vector<comm::ProcessIndex>& peers, const std::vector<int>& ranks, Links& links) {
  links.mpi = MpiSession::start();
  for (comm::ProcessIndex peer : peers) links.to[std::size_t(peer)] = links.mpi->link_to(ranks[std::size_t(peer)]);
}

}  // namespace shardlab
