// The link between two processes over a connected TCP socket.
#pragma once

#include <chrono>
#include <memory>

#include "virtualdev/transports/byte_link.h"

namespace shardlab {

// Takes the socket over. `silence`: how long the other host may give no sign of life before the link is broken.
std::unique_ptr<ByteLink> make_tcp_link(int socket, std::chrono::milliseconds silence);

}  // namespace shardlab
