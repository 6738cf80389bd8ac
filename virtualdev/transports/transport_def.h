// The definition of a transport: a way for processes to exchange messages, with its name and documentation.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/rendezvous.h"
#include "virtualdev/transports/process_transport.h"

namespace shardlab {

struct TransportOptions {
  comm::ProcessIndex process_index = 0;
  int num_processes = 1;
  // For shm and auto: the name of a segment for all processes, by index; empty: agreed at the rendezvous.
  std::string address;
  // A process's host, as a text that is equal for processes of one host alone; empty: all are on one host.
  std::vector<std::string> hosts;
  Rendezvous* rendezvous = nullptr;         // needed by what is agreed on while connecting; not used later
  std::string secret;                       // the job's token: a connection that does not know it is turned away
  bool encrypted = false;                   // sockets speak TLS under the secret
  std::string bind_address = "127.0.0.1";   // where sockets listen, and where the others reach them
  std::chrono::milliseconds limit{60'000};  // for all processes to connect
  std::chrono::milliseconds link{10'000};   // a connection that gives no sign of life for so long is broken
};

struct TransportDef {
  std::string_view name;
  std::string_view doc;
  int processes_max;  // 0: any number
  // Throws UserError, IoError, TransportError.
  std::unique_ptr<ProcessTransport> (*make)(const TransportOptions&);
};

extern const TransportDef kLocalTransport;
extern const TransportDef kShmTransport;
extern const TransportDef kTcpTransport;
extern const TransportDef kMpiTransport;
extern const TransportDef kAutoTransport;

std::span<const TransportDef* const> all_transports();
// Throws UserError that names the transports there are.
const TransportDef& transport_named(std::string_view name);

}  // namespace shardlab
