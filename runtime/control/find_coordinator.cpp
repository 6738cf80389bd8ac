#include <fmt/format.h>

#include <thread>

#include "control.grpc.pb.h"
#include "runtime/base/error.h"
#include "runtime/control/channel.h"
#include "runtime/control/client.h"
#include "runtime/control/environment.h"
#include "runtime/control/network.h"
#include "runtime/control/tls_probe.h"
#include "runtime/control/wire.h"

namespace shardlab::control {

std::string find_coordinator(const std::string& host, int first, int ports, const std::string& token, int process_index, int timeout_ms,
                             const TlsOptions& tls) {
  constexpr int kAnswerMs = 1000, kBetweenMs = 20;
  constexpr std::chrono::seconds kTellAfter{3}, kTellAgainAfter{15};
  auto begin = std::chrono::steady_clock::now(), end = begin + std::chrono::milliseconds(timeout_ms), tell_at = begin + kTellAfter;
  std::string wanted = ports == 1 ? join_address(host, first) : fmt::format("{} ports {} to {}", host, first, first + ports - 1), last;
  do {
    for (int port = first; port < first + ports; ++port) {
      std::string address = join_address(host, port);
      if (tls.on()) {
        TlsFinding finding = probe_tls(address, host, tls, std::chrono::milliseconds(kAnswerMs));
        if (finding.verdict != TlsVerdict::kGood) {
          last = finding.why;
          // Where there are more ports, this one may be another job's.
          if (finding.verdict == TlsVerdict::kRefused && ports == 1)
            throw TransportError(fmt::format("process {} looks for the coordinator at {} over TLS: {}", process_index, address, last));
          continue;
        }
      }
      auto stub = wire::Coordination::NewStub(make_channel(address, tls, host));
      grpc::ClientContext context;
      context.AddMetadata(kTokenKey, token);
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(kAnswerMs));
      wire::KeyValue hello;
      hello.set_key("hello");
      wire::Nothing answer;
      grpc::Status status = stub->SetKey(&context, hello, &answer);
      if (status.ok()) return address;
      last = status.error_message();
      if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && ports == 1)
        last += fmt::format("; another job's coordinator listens there, or {} is not the same for all processes", kTokenVariable);
    }
    if (std::chrono::steady_clock::now() >= tell_at) {
      if (!tls.on() && ports == 1) last += hint_at_tls(join_address(host, first));
      fmt::print(stderr, "shardlab: process {} waits for the coordinator, which process 0 starts, at {}: {}\n", process_index, wanted,
                 last);
      tell_at += kTellAgainAfter;
    }
    // Nobody tells when another process begins to listen: asking again is all there is.
    std::this_thread::sleep_for(std::chrono::milliseconds(kBetweenMs));
  } while (std::chrono::steady_clock::now() < end);
  if (!tls.on() && ports == 1) last += hint_at_tls(join_address(host, first));
  throw TransportError(fmt::format(
      "process {}: no coordinator of this job answers at {} within {} ms ({}). Process 0 starts it: does it run, and can its host "
      "be reached from here?",
      process_index, wanted, timeout_ms, last));
}

}  // namespace shardlab::control
