// gRPC channels to the coordinator, trusted and connected, and why there is none.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "runtime/control/client.h"

namespace shardlab::control {

// Not connected yet. `silence_ms`: a coordinator that gives no sign of life for so long is gone; 0: no limit.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const TlsOptions& tls, const std::string& server_name,
                                            int silence_ms = 0);

// Connected within the time to join. Throws TransportError that says why not, TLS included.
std::shared_ptr<grpc::Channel> connected_channel(const ClientOptions& options);

// "; it speaks TLS …" where whoever listens there does; empty otherwise.
std::string hint_at_tls(const std::string& address);

}  // namespace shardlab::control
