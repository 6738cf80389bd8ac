#include "runtime/control/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/control/tls_probe.h"
#include "runtime/control/wire.h"

namespace shardlab::control {
namespace {

constexpr std::chrono::milliseconds kProbeLimit{5000};

// Before gRPC, whose own errors of TLS say little. Throws where trying again is of no use; false where nobody answered in time.
bool wait_trusted(const ClientOptions& options, std::chrono::system_clock::time_point deadline) {
  constexpr std::chrono::milliseconds kBetween{100};
  while (true) {
    TlsFinding finding = probe_tls(options.address, options.server_name, options.tls, kProbeLimit);
    if (finding.verdict == TlsVerdict::kGood) return true;
    if (finding.verdict == TlsVerdict::kRefused)
      throw TransportError(
          fmt::format("process {} joins the coordinator at {} over TLS: {}", options.process_index, options.address, finding.why));
    if (std::chrono::system_clock::now() + kBetween > deadline) return false;
    std::this_thread::sleep_for(kBetween);  // nobody tells when it begins to listen
  }
}

// Whether the channel connects; a coordinator that wants TLS is recognized long before the deadline.
bool wait_connected(grpc::Channel& channel, const ClientOptions& options, std::chrono::system_clock::time_point deadline) {
  constexpr std::chrono::seconds kSoon{2};
  if (channel.WaitForConnected(std::min(deadline, std::chrono::system_clock::now() + kSoon))) return true;
  if (!options.tls.on() && speaks_tls(options.address, kProbeLimit)) return false;
  return channel.WaitForConnected(deadline);
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const std::string& address, const TlsOptions& tls, const std::string& server_name,
                                            int silence_ms) {
  grpc::ChannelArguments arguments;
  if (tls.on()) arguments.SetSslTargetNameOverride(server_name);
  if (silence_ms > 0) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, silence_ms / 2);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, silence_ms / 2);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  return grpc::CreateCustomChannel(address, channel_credentials(tls), arguments);
}

std::string hint_at_tls(const std::string& address) {
  if (!speaks_tls(address, kProbeLimit)) return "";
  return fmt::format("; it speaks TLS, and this process was not asked to: set {} to the authority of its certificate", kTlsCaVariable);
}

std::shared_ptr<grpc::Channel> connected_channel(const ClientOptions& options) {
  auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(options.join_timeout_ms);
  bool trusted = !options.tls.on() || wait_trusted(options, deadline);
  auto channel = make_channel(options.address, options.tls, options.server_name, options.heartbeat_timeout_ms);
  if (trusted && wait_connected(*channel, options, deadline)) return channel;
  throw TransportError(fmt::format("process {} cannot reach the coordinator at {} within {} ms{}", options.process_index, options.address,
                                   options.join_timeout_ms, options.tls.on() ? "" : hint_at_tls(options.address)));
}

}  // namespace shardlab::control
