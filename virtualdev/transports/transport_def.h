// The definition of a transport: a way for processes to exchange messages, with its name and documentation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/comm/transport.h"

namespace shardlab {

struct TransportOptions {
  comm::ProcessIndex process_index = 0;
  int num_processes = 1;
  std::string address;  // what the transport's processes meet at: the segment's name for shm; empty for local
};

struct TransportDef {
  std::string_view name;
  std::string_view doc;
  int processes_max;  // 0: any number
  std::unique_ptr<comm::Transport> (*make)(const TransportOptions&);
};

extern const TransportDef kLocalTransport;
extern const TransportDef kShmTransport;

std::span<const TransportDef* const> all_transports();
// Throws UserError that names the transports there are.
const TransportDef& transport_named(std::string_view name);

}  // namespace shardlab
