// Why a coordinator cannot be spoken to over TLS: a handshake of our own, which gRPC's does not explain.
#pragma once

#include <chrono>
#include <string>

#include "runtime/control/tls.h"

namespace shardlab::control {

enum class TlsVerdict { kGood, kUnreachable, kRefused };

struct TlsFinding {
  TlsVerdict verdict = TlsVerdict::kGood;
  std::string why;  // what was wanted, got, and what to try
};

// Connects to "host:port" and shakes hands as gRPC would; `name` is the host or address that the certificate must be for. Throws UserError
// for our own files.
TlsFinding probe_tls(const std::string& address, const std::string& name, const TlsOptions& options, std::chrono::milliseconds limit);

// Whether whoever listens there answers to TLS at all.
bool speaks_tls(const std::string& address, std::chrono::milliseconds limit);

}  // namespace shardlab::control
