// The link between two processes over a connected TCP socket, encrypted under a secret that both know.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "virtualdev/transports/byte_link.h"

namespace shardlab {

enum class TlsRole { kConnects, kAccepts };

// Takes the socket over and shakes hands within `limit`: TLS 1.3 with the secret as pre-shared key (RFC 8446, 2.2) and fresh keys for every
// connection, so that what was recorded stays closed even to who learns the secret later. Throws TransportError where the other side does
// not know the secret or does not speak TLS. `silence` as of make_tcp_link.
std::unique_ptr<ByteLink> make_tls_link(int socket, TlsRole role, const std::string& secret, std::chrono::milliseconds limit,
                                        std::chrono::milliseconds silence);

}  // namespace shardlab
