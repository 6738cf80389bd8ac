// The transport that chooses for each pair of processes: shared memory within a host, MPI or TCP between hosts.
#include "runtime/base/error.h"
#include "virtualdev/transports/connect.h"
#include "virtualdev/transports/link_transport.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

std::unique_ptr<ProcessTransport> make(const TransportOptions& options) {
  SL_CHECK(options.hosts.empty() || int(options.hosts.size()) == options.num_processes, "{} hosts for {} processes", options.hosts.size(),
           options.num_processes);
  Links links;
  links.to.resize(std::size_t(options.num_processes));
  std::vector<comm::ProcessIndex> near, far;  // near: this process too
  for (int p = 0; p < options.num_processes; ++p) {
    bool same_host = options.hosts.empty() || options.hosts[std::size_t(p)] == options.hosts[std::size_t(options.process_index)];
    (same_host ? near : far).push_back(p);
  }
  if (near.size() > 1) connect_by_shm(options, near, links);
  if (far.empty()) return std::make_unique<LinkTransport>("shm", options.process_index, std::move(links));
  std::string between = "tcp";
  // What is to be encrypted is nothing for MPI.
  if (std::vector<int> ranks = options.encrypted ? std::vector<int>() : mpi_ranks(options); !ranks.empty()) {
    connect_by_mpi(far, ranks, links);
    between = "mpi";
  } else {
    connect_by_tcp(options, far, links);
  }
  std::string name = near.size() == 1 ? between : "shm+" + between;
  return std::make_unique<LinkTransport>(name, options.process_index, std::move(links));
}

}  // namespace

const TransportDef kAutoTransport{
    .name = "auto",
    .doc = "Chooses for each pair of processes: shared memory within a host; between hosts MPI where one mpirun started all, else TCP.",
    .processes_max = 0,
    .make = make,
};

}  // namespace shardlab
