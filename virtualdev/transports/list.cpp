#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {

std::span<const TransportDef* const> all_transports() {
  static constexpr std::array kTransports{&kAutoTransport, &kLocalTransport, &kMpiTransport, &kShmTransport, &kTcpTransport};
  return kTransports;
}

const TransportDef& transport_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TransportDef* transport : all_transports()) {
    if (transport->name == name) return *transport;
    names.push_back(transport->name);
  }
  throw_user_error("there is no transport '{}'{}; there are: {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

}  // namespace shardlab
