// TLS between a process and the coordinator: which files, what is wrong with them, and gRPC's credentials made of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace shardlab::control {

inline constexpr char kTlsCertificateVariable[] = "SHARDLAB_TLS_CERTIFICATE";
inline constexpr char kTlsKeyVariable[] = "SHARDLAB_TLS_KEY";
inline constexpr char kTlsCaVariable[] = "SHARDLAB_TLS_CA";
inline constexpr char kTlsMutualVariable[] = "SHARDLAB_TLS_MUTUAL";

// PEM files. Whoever runs the coordinator has a certificate and its key; whoever joins knows the authority that signed it. With `mutual`
// everybody has all three, and nobody without a certificate of the authority's is heard.
struct TlsOptions {
  std::string certificate, key, ca;
  bool mutual = false;
  bool on() const { return mutual || !certificate.empty() || !key.empty() || !ca.empty(); }
};

// What the program says, completed by the variables. Throws UserError where a variable makes no sense.
TlsOptions complete_tls(TlsOptions said);

// Who reads the files, which decides on those that it needs.
enum class TlsSide { kCoordinator, kProcess };

// Throws UserError that says which file, what is wrong with it (missing, no certificate, expired, a key of another certificate), and what
// to do.
void check_tls(const TlsOptions& options, TlsSide side);

// Both check; insecure ones where TLS is off.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsOptions& options);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsOptions& options);

}  // namespace shardlab::control
