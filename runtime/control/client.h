// The control plane as one process of a job reaches it: comm::Control over a stream to the coordinator.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/control/member.h"
#include "runtime/control/process_control.h"
#include "runtime/control/tls.h"

namespace shardlab::control {

struct ClientOptions {
  std::string address;  // "127.0.0.1:41237"
  std::string token;
  int process_index = 0;
  int num_processes = 1;
  int num_devices = 1;                // of this process
  int join_timeout_ms = 300'000;      // for all processes to come
  int heartbeat_timeout_ms = 0;       // a coordinator that gives no sign of life for so long is gone; 0: no limit
  int shutdown_timeout_ms = 300'000;  // for the others to leave too
  TlsOptions tls;
  std::int64_t epoch = 0;         // of an elastic job
  std::uint64_t incarnation = 0;  // of this process in it
  std::string server_name;        // whose certificate the coordinator must have; empty: the address's host
  int merged_fd = -1;             // of who started the coordinator: at its end once the job's trace is merged
  // Called once, from a thread of the client's, when no data may move any more: abort the transport.
  std::function<void(const std::string& why)> on_stop;
};

// Threads: a sender drains the queue of words, a reader brings the news. issued() never waits for the network.
class ControlClient final : public ProcessControl {
 public:
  static constexpr int kGoodbyeMs = 1000;  // how long the coordinator may take to close the stream

  ~ControlClient() override;

  // Everyone in the job, by index.
  const std::vector<Member>& members() const;

  // This process has no part in what the others go on with: every gate ends with `why`.
  void abandon(const std::string& why) { hear_broken(why); }

  // The key-value store, for addresses and the like. get_key waits until the key is set; both throw TransportError, and set_key with
  // `only_new` UserError where the key has a value.
  void set_key(const std::string& key, const std::string& value, bool only_new = false,
               std::chrono::milliseconds limit = std::chrono::milliseconds(10'000));
  std::string get_key(const std::string& key, std::chrono::milliseconds limit);
  // The same of a program, by whose line and name for the key it is told, from the issuing thread: DiagnosisError when the verdict comes
  // meanwhile.
  std::string await_key(const std::string& key, std::chrono::milliseconds timeout, const std::string& told_as, Where where);
  // From the issuing thread. Returns once all `participants` (nothing: all processes) have come. UserError where they do not agree on who
  // they are, TransportError where one is missing at the end of `timeout` or has ended, DiagnosisError when the verdict comes meanwhile.
  void wait_at_barrier(const std::string& barrier, std::chrono::milliseconds timeout, const std::vector<int>& participants, Where where);

 private:
  class Link;
  friend std::unique_ptr<ControlClient> connect(ClientOptions options);
  explicit ControlClient(ClientOptions options);
  Uplink& uplink() override;

  std::unique_ptr<Link> link_;
};

// Joins the job and returns when all processes have joined. Throws TransportError when the coordinator cannot be reached, refuses, or
// when not all came in time (naming who is missing); DiagnosisError when one of them ended before it came.
std::unique_ptr<ControlClient> connect(ClientOptions options);

// The address of the coordinator that knows the token, on one of `ports` ports from `first` on. Asks until it answers; throws
// TransportError when none did in time.
std::string find_coordinator(const std::string& host, int first, int ports, const std::string& token, int process_index, int timeout_ms,
                             const TlsOptions& tls = {});

}  // namespace shardlab::control
