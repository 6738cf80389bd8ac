// The referee: the ledger with a clock, a look-ahead and a judge; it tells the processes what is matched and what the verdict is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/control/host_waits.h"
#include "runtime/control/ledger.h"
#include "runtime/control/verdict.h"

namespace shardlab::control {

// Where a process is and what it did last beside its calls.
struct Recent {
  std::vector<StepEvidence> steps;
  std::string at;  // the line or statement that it began last
  std::int32_t statement = -1;
};

// One process's ear. Called with the referee's lock held: hand on quickly and do not call the referee.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void matched(std::int64_t count) = 0;  // so many of the process's launches are matched
  // No data moves any more; issue on until the next read. Where somebody has raised, data of what is matched may never come either.
  virtual void poison(bool anyone_raised) = 0;
  virtual void verdict(const VerdictRef&) = 0;
  virtual void left() = 0;  // its leaving is complete
  // The process's last steps, if they can be had at once; those of a remote one come as a word, after the poison.
  virtual std::optional<Recent> recent() const { return std::nullopt; }
  // It knows what time it has had, which the clock of another does not, and says so after a poison.
  virtual bool tells_when_it_looked_ahead() const { return false; }
};

// A process blocked at a host-visible read until its launches up to `launch` are matched.
struct Reading {
  std::int64_t launch = -1;
  bool poisoned = false;  // it stays here whatever is matched
  std::string doing, where;
  std::int32_t statement = -1;
  std::uint64_t visit = 0;  // at a barrier or for a key: which wait of its own it is
};

struct RefereeOptions {
  int num_processes = 1;
  // How long processes that do not tell when they have looked ahead may issue on after a finding, and how many calls each of all.
  std::chrono::milliseconds look_ahead{50};
  std::int64_t look_ahead_calls = 1000;
  // How long a process that others wait for may be alive, in no call, and say nothing.
  std::chrono::milliseconds stuck{10'000};
  // Without a sign of life for so long, a process is waited for no more when others have given enough for a verdict.
  std::chrono::milliseconds silent{2'000};
  // A wait at a barrier or for a key that ends by its time-out within so long ends by itself.
  std::chrono::milliseconds poll{2'000};
  // How long a mismatch seen by an executor alone waits for the ledger to explain it.
  std::chrono::milliseconds wire_grace{1000};
  // From the judge's thread, without locks: once at the first finding, once at the verdict.
  std::function<void()> on_finding;
  std::function<void(const VerdictRef&)> on_verdict;
};

// Thread-safe. Its one thread sleeps until there is a finding; then until the look-ahead is over; then it judges. A death is judged at
// once. The verdict is given once and never changes.
//
// What a verdict rests on does not hang on how busy the machine is: the look-ahead ends when each process has come to a place where it
// waits for the verdict, has ended, or says that it has had time of its own enough. Those words are certain to come, but from a process
// that is stopped or cut off: it is given up when it is silent.
class Referee {
 public:
  explicit Referee(RefereeOptions options);
  ~Referee();

  // What was told before is told again to a new listener. nullptr: nobody listens any more.
  void listen(int process, Listener* listener);

  void declare(const ProgramEvidence& program);
  void joined(int process, comm::Ns time);
  void issued(int process, CallEvidence call);
  void reading(int process, Reading reading, comm::Ns time);
  void running(int process, comm::Ns time);
  // The executor waits for peers in a call; no `doing`: no longer.
  void waiting(int process, const std::string& doing, const std::string& where, std::int32_t statement, comm::Ns time);
  void wire_mismatch(int process, int from, const std::string& what, comm::Ns time);
  void raised(int process, const std::string& error, const std::string& where, std::int32_t statement, comm::Ns time);
  void leaving(int process, comm::Ns time);
  void recent(int process, Recent recent);
  void looked_ahead(int process);
  // `place`: where it was, if that is known.
  void died(int process, int exit_code, int signal, comm::Ns time, Where place = {});
  // Nothing is heard of it any more, though nobody has seen it end: it is stopped or cut off, and so are others that are as silent.
  void lost(int process, comm::Ns time, std::chrono::milliseconds silence);
  // Before anybody joins; as of the ledger.
  void absent(int process, bool left, int exit_code, int signal);
  // Named barriers and keys, as whoever holds them knows: who came or wants one and has not been answered (HostWaits).
  void came(const std::string& barrier, int process, std::uint64_t visit, const std::set<int>& participants,
            std::chrono::milliseconds timeout);
  void barrier_over(const std::string& barrier);
  void wants_key(int process, std::uint64_t visit, std::chrono::milliseconds timeout);
  void key_over(int process, std::uint64_t visit);
  // A sign of life, heartbeats included, by this side's clock. Who never gives one is not expected to.
  void alive(int process, comm::Ns now);
  // It computes in the library, however long: it is not stuck.
  void at_work(int process, comm::Ns now);

  Evidence evidence() const;   // as it was at the verdict; without one, as it is
  VerdictRef verdict() const;  // nullptr: none
  bool all_ended() const;
  bool ended(int process) const;
  // The text of the error that all processes raised alike, which is no diagnosis.
  std::optional<std::string> common_error() const;
  // Waits until the verdict is given or every process has ended; false when `limit` passed before.
  bool wait_over(std::chrono::milliseconds limit) const;
  // When every process has been reported dead: waits until the last word is spoken, a verdict or none.
  void conclude() const;

 private:
  struct Side {
    Listener* listener = nullptr;
    std::optional<Reading> reading;
    std::optional<Reading> waiting;  // in which call its executor waits for peers, and where; whatever it reads meanwhile
    std::int64_t issued_at_finding = 0;
    bool told_recent = false;  // since the poison
    int looked_ahead = 0;      // it has had the time for that; a second time: also to come up to where the others are
    int signs = 0;             // of life, since an executor met a message that does not fit
    comm::Ns heard_ns = 0;     // its last word
    comm::Ns alive_ns = 0;     // its last sign of life, where it gives any
    comm::Ns worked_ns = 0;    // when it said last that it computes
    bool clock_known = false;
    comm::Ns behind_ns = 0;  // what its clock is behind this one at most: the least time that a word took
  };
  // Processes of other machines have other clocks. A time of theirs by this one's, with the lock held.
  comm::Ns here(int process, comm::Ns time);
  void after_event();  // with the lock held: tells who progressed, wakes the judge
  void heard(int process, comm::Ns time) { sides_[std::size_t(process)].heard_ns = std::max(sides_[std::size_t(process)].heard_ns, time); }
  void seek_stuck();
  void seek_raised();
  std::vector<int> raised() const;
  void seek_host_circle();
  Evidence evidence_now() const;
  void hear_recent(int process, Recent recent);
  void ask_those_who_wait();
  void hear_those_at_hand();
  void seek_diverged_choices();
  bool settled(int process) const;
  bool works_on(int process) const;
  bool looks_ahead_no_more(int process, comm::Ns found_ns, bool lacks_choice) const;
  bool look_ahead_over(comm::Ns found_ns) const;
  bool wire_words_in() const;
  void await_words_on_wire(std::unique_lock<std::mutex>& lock, std::stop_token stop);
  void tell_all_left();
  void judge_loop(std::stop_token stop);
  Diagnosis unexplained(const Evidence& evidence) const;

  const RefereeOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  Ledger ledger_;
  HostWaits host_waits_;
  std::vector<std::vector<int>> awaited_by_;  // of a circle that such waits are part of: by process, for whom it waits there
  std::vector<Side> sides_;
  bool found_ = false, examined_ = false, closed_ = false, anyone_leaves_ = false;
  std::optional<std::string> wire_;  // the first message that an executor could not place
  std::vector<int> wire_processes_;
  comm::Ns wire_ns_ = 0, last_end_ns_ = 0, sought_ns_ = 0, awake_ns_ = 0;
  VerdictRef verdict_;
  Evidence final_evidence_;
  std::jthread judge_;  // last: it uses all of the above
};

}  // namespace shardlab::control
