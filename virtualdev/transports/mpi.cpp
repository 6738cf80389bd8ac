// The transport between the processes of a job of Open MPI.
#include "runtime/base/error.h"
#include "virtualdev/transports/connect.h"
#include "virtualdev/transports/link_transport.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

std::unique_ptr<ProcessTransport> make(const TransportOptions& options) {
  if (std::string why = MpiSession::why_absent(); !why.empty()) throw_user_error("the transport mpi: {}", why);
  if (options.encrypted) throw_user_error("the transport mpi does not encrypt, and this job speaks TLS; use auto or tcp");
  Links links;
  links.to.resize(std::size_t(options.num_processes));
  std::vector<comm::ProcessIndex> peers;
  for (int p = 0; p < options.num_processes; ++p)
    if (p != options.process_index) peers.push_back(p);
  if (!peers.empty()) {
    std::vector<int> ranks = mpi_ranks(options);
    if (ranks.empty())
      throw_user_error(
          "the transport mpi joins the processes that one mpirun started, and these are not; start them so (mpirun -n {} PROGRAM, "
          "or shardlab run --transport mpi -n {} -- PROGRAM), or use auto",
          options.num_processes, options.num_processes);
    connect_by_mpi(peers, ranks, links);
  }
  return std::make_unique<LinkTransport>("mpi", options.process_index, std::move(links));
}

}  // namespace

const TransportDef kMpiTransport{
    .name = "mpi",
    .doc = "Processes that Open MPI's mpirun started: messages of MPI for each pair.",
    .processes_max = 0,
    .make = make,
};

}  // namespace shardlab
