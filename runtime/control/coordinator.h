// The coordinator: the referee behind a gRPC server, with a key-value store. It lives in whoever starts the job, not in process 0.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/control/job_token.h"
#include "runtime/control/member.h"
#include "runtime/control/membership.h"
#include "runtime/control/tls.h"
#include "runtime/control/verdict.h"
#include "traces/checks/evidence.h"

namespace shardlab::control {

struct CoordinatorOptions {
  int num_processes = 1;
  std::string token;               // empty: a random one
  std::string host = "127.0.0.1";  // loopback unless told otherwise
  int port = 0;                    // 0: the system's choice
  TlsOptions tls;
  std::chrono::milliseconds stuck{10'000};   // how long a process that others wait for may be silent
  std::chrono::milliseconds look_ahead{50};  // how long processes may issue on after a finding, where they do not come to a read before
  // Whether report_death() will be called for every process. Otherwise a stream that breaks is a death.
  bool supervised = true;
  // Elastic: a death ends what the processes had begun together, not the job; who comes again has a new incarnation.
  bool elastic = false;
  // Unsupervised: a process whose host gives no sign of life for so long is lost. 0: no limit.
  int silence_ms = 0;
  std::function<void()> on_finding;                   // the first proof: no data moves any more
  std::function<void(const VerdictRef&)> on_verdict;  // both from a thread of the coordinator's, without locks
};

// Thread-safe. Every call of a process carries the job's token; one without it is refused and changes nothing.
class Coordinator {
 public:
  static constexpr int kHeartbeatMs = 500;  // a process says something at least this often
  static constexpr int kDrainMs = 50;       // of this side's own time, that a dead process's last words may be under way
  // From a broken stream to a death, when nobody reported one: a supervisor on a busy machine may be late with the signal or the code,
  // and those say more.
  static constexpr int kDisappearedMs = 5000;
  static constexpr int kSilentMs = 3000;  // without a sign of life: longer than a lossy network makes anybody wait

  // Throws TransportError when the port cannot be had.
  explicit Coordinator(CoordinatorOptions options);
  ~Coordinator();

  const std::string& address() const;  // "127.0.0.1:41237"
  const std::string& token() const;

  // A process ended, by `signal` or with `exit_code`, at `place` where that is known. What it said before is heard first.
  void report_death(int process, int exit_code, int signal, comm::Ns time, Where place = {});

  std::vector<Member> members() const;  // those that have joined, by index
  std::vector<int> missing() const;     // those that have not
  bool wait_joined(std::chrono::milliseconds limit) const;
  // Whether one came that was told another number of processes, before all had joined: the job does not begin.
  bool disagree() const;
  // Waits until there is a verdict or every process has ended.
  bool wait_over(std::chrono::milliseconds limit) const;
  // When every process has been reported dead: waits until the verdict, or none, is final.
  void conclude() const;
  // Unsupervised: waits until every process that joined has gone.
  bool wait_deserted(std::chrono::milliseconds limit) const;

  Evidence evidence() const;
  std::vector<Diagnosis> diagnoses() const;
  std::optional<std::string> common_error() const;  // raised alike by all processes: no diagnosis
  bool ended(int process) const;
  std::vector<SilentProcess> silent(std::chrono::milliseconds at_least) const;
  // Unsupervised, to be called often, by one thread: lets a process tell its user of each other one that gives no sign of life.
  void tell_silences();

  void set_key(const std::string& key, const std::string& value);
  std::optional<std::string> get_key(const std::string& key) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardlab::control
