// The transport between any processes: a TCP connection for each pair, authenticated by the job's token.
#include "virtualdev/transports/connect.h"
#include "virtualdev/transports/link_transport.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

std::unique_ptr<ProcessTransport> make(const TransportOptions& options) {
  Links links;
  links.to.resize(std::size_t(options.num_processes));
  std::vector<comm::ProcessIndex> peers;
  for (int p = 0; p < options.num_processes; ++p)
    if (p != options.process_index) peers.push_back(p);
  connect_by_tcp(options, peers, links);
  return std::make_unique<LinkTransport>("tcp", options.process_index, std::move(links));
}

}  // namespace

const TransportDef kTcpTransport{
    .name = "tcp",
    .doc = "Processes of any hosts: a TCP connection for each pair.",
    .processes_max = 0,
    .make = make,
};

}  // namespace shardlab
