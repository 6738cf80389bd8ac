// The transport between processes of one host: a ring of shared memory for each pair, and futexes to sleep on.
#include "runtime/base/error.h"
#include "virtualdev/transports/connect.h"
#include "virtualdev/transports/link_transport.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

std::unique_ptr<ProcessTransport> make(const TransportOptions& options) {
  for (const std::string& host : options.hosts)
    if (host != options.hosts[0])
      throw_user_error("the transport shm joins processes of one host, and this job has several: {} and {}; use auto or tcp",
                       options.hosts[0], host);
  Links links;
  links.to.resize(std::size_t(options.num_processes));
  std::vector<comm::ProcessIndex> peers;
  for (int p = 0; p < options.num_processes; ++p) peers.push_back(p);
  connect_by_shm(options, peers, links);
  return std::make_unique<LinkTransport>("shm", options.process_index, std::move(links));
}

}  // namespace

const TransportDef kShmTransport{
    .name = "shm",
    .doc = "Processes of one host: shared memory, and futexes to sleep on.",
    .processes_max = 0,
    .make = make,
};

}  // namespace shardlab
