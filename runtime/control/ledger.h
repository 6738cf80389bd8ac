// The ledger: what every process has issued, what of it is matched, and the first proof that something never will be.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/control/launch_evidence.h"
#include "traces/checks/choices.h"
#include "traces/checks/evidence.h"

namespace shardlab::control {

// Why no schedule can complete the run any more.
struct Finding {
  enum class Kind { kContradiction, kGone, kCycle, kDeath, kValues, kReported };
  Kind kind = Kind::kContradiction;
  std::int64_t complete_ns = 0;  // the issue or death that completed the proof, by the clock of who did it
  std::vector<int> processes;    // those that the proof rests on
};

// What a process's own thread does, beside its calls.
struct HostState {
  enum class Kind { kRuns, kReads, kAwaitsAll, kAwaitsAny } kind = Kind::kRuns;
  const std::set<int>* awaited = nullptr;  // with kAwaitsAll
};

// Pure and single-threaded; it has no clock, times are passed in.
//
// State: per process a queue of issued calls. A call is matched when it is at the head of the queue of each of its participants; it is
// then taken from all of them. A process executes its launches strictly in order, so a process whose head needs another is stuck
// until that one comes to the same call. Therefore these are proofs, whatever the processes that are only slow still do:
// - contradiction: the heads of p and q differ and each needs the other;
// - gone: the head of p needs q, which issues nothing any more and has nothing open;
// - cycle: a longer circle of processes whose heads each need the next one, which stands at another call;
// A buffered send is over at once; what it left in its channel goes to the next receive there. Another send, and every receive, waits at
// the head like any call, for the other end.
// - values: equal calls met, but what every process brings to them whole is not equal;
// - death: a process was killed or ended without leaving.
// The first of them is the finding. Calls are taken in and matched afterwards too, for the look-ahead, but no other finding is sought.
class Ledger {
 public:
  static constexpr std::size_t kMatchedKept = 64;             // calls of a process that are kept when matched
  static constexpr std::int64_t kLatenessToldNs = 1'000'000;  // what is less is how processes go side by side

  explicit Ledger(int num_processes);

  int num_processes() const { return int(processes_.size()); }
  // A program must be declared before its first launch. Declaring it again, from any process, changes nothing.
  void declare(const ProgramEvidence&);
  bool knows(std::uint64_t fingerprint, std::uint64_t group) const { return programs_.contains({fingerprint, group}); }

  void joined(int process, std::int64_t time_ns);
  void issued(int process, CallEvidence call);
  // kRunning, kReading or kWaiting.
  void state(int process, ProcessState, const std::string& doing, const std::string& where, std::int32_t statement, std::int64_t time_ns);
  void raised(int process, const std::string& error, const std::string& where, std::int32_t statement, std::int64_t time_ns);
  // It issues nothing more; it has left once all that it issued is matched.
  void leaving(int process, std::int64_t time_ns);
  // Ended by `signal`, or with `exit_code` where that is 0. Who had left or raised before stays so.
  void died(int process, int exit_code, int signal, std::int64_t time_ns);
  // Had ended so before this ledger began: whoever needs it is told, and nobody else.
  void absent(int process, bool left, int exit_code, int signal);
  // What the process did last beside its calls, and where it is.
  void recent(int process, std::vector<StepEvidence> steps, const std::string& at, std::int32_t statement);
  // Processes that have not come to a loop or a branch, or not as far in it as where others part ways, or have not said so.
  YetToChoose yet_to_choose() const;
  // Where it was when it ended.
  void last_seen(int process, const std::string& at, std::int32_t statement);
  // Alive and in no call, but it has said nothing for longer than it may.
  void stuck(int process);
  // Not even a heartbeat of it has come.
  void stopped(int process);
  // And its connection is gone.
  void lost(int process);
  // Processes that have issued all that is known of them, in no call and not ended, for which another one waits; and since when.
  std::vector<int> awaited() const;
  std::int64_t awaited_since(int process) const;
  // Another process has been blocked in a call or at a read since before that time.
  bool others_blocked(int process, std::int64_t since_ns) const;
  // By process: whether it can ever do anything more, given what each one's thread does.
  std::vector<bool> may_go_on(const std::vector<HostState>& hosts) const;
  // After calls that both have issued alike, and that may still lack others, each is at one that needs the other: neither can ever go on.
  bool differ_ahead(int p, int q) const;
  // Something outside the calls proves that the run cannot go on.
  void report_finding(std::vector<int> processes, std::int64_t time_ns);
  // The same of processes that are stopped or cut off and say no more: as after a death, nothing further is waited for.
  void report_silent(std::vector<int> processes, std::int64_t time_ns);

  const std::optional<Finding>& finding() const { return finding_; }
  ProcessState state_of(int process) const { return at(process).evidence.state; }
  bool has_left(int process) const { return state_of(process) == ProcessState::kLeft; }
  bool ended(int process) const { return at(process).ended; }
  bool issues_no_more(int process) const { return at(process).ended || at(process).leaving; }
  bool all_ended() const;
  std::int64_t issued_of(int process) const { return at(process).evidence.issued; }
  std::int64_t matched_of(int process) const { return at(process).evidence.matched; }
  // The launch number of the first call that is not matched, or -1.
  std::int64_t first_open(int process) const { return at(process).queue.empty() ? -1 : at(process).queue.front().call.launch; }
  // Processes whose count of matched calls grew, or that have left, since this was asked last.
  std::vector<int> take_progress();
  // When its last matched call was.
  std::int64_t matched_ns(int process) const { return at(process).matched_ns; }
  Evidence evidence(std::int64_t now_ns) const;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // fingerprint, group
  struct Program {
    ProgramEvidence evidence;
    std::vector<bool> includes;  // by process
    std::vector<int> at_head;    // processes that stand at it
  };
  struct OpenCall {
    CallEvidence call;
    Program* program;
  };
  // Messages from one process to another on one channel.
  struct Channel {
    int from = 0, to = 0;
    std::deque<CallEvidence> sent;  // buffered, and not yet received
  };
  struct Process {
    ProcessEvidence evidence;  // without its calls
    std::deque<CallEvidence> matched;
    std::deque<OpenCall> queue;
    std::int64_t head_since_ns = 0;  // when the head was both issued and first in the queue; for an empty queue, when it became so
    bool leaving = false, ended = false;
    std::int64_t ended_ns = 0, matched_ns = 0;
  };

  Process& at(int process);
  const Process& at(int process) const;
  const OpenCall* head(int process) const { return at(process).queue.empty() ? nullptr : &at(process).queue.front(); }
  void head_changed(int process);  // it has a new head or an empty queue
  bool try_match(Program&, std::vector<int>& changed);
  void note_lateness(const std::vector<int>& members);
  bool values_differ(const Program&) const;
  // The same for the two ends of a channel.
  bool try_message(int process, std::vector<int>& changed);
  bool take_sent(int process, std::vector<int>& changed);
  bool pass_send(int process, std::vector<int>& changed);
  void leave_head(int process);  // it no longer stands there
  void seek_unreceived(int gone);
  void pop(int process, std::int64_t time_ns);
  void progress(int process);
  void end(int process, ProcessState, std::int64_t time_ns);
  void seek_contradiction(int process);
  void seek_gone(int process);
  void seek_needed(int gone);
  void seek_cycle(int process);
  void find(Finding::Kind, std::vector<int> processes, std::int64_t complete_ns);

  std::vector<Process> processes_;
  std::map<Key, std::unique_ptr<Program>> programs_;
  std::map<Key, Program*> standing_;  // programs with a process at their head
  std::map<std::string, Channel> channels_;
  std::vector<int> progressed_;
  std::vector<bool> has_progressed_;
  int gone_ = 0;  // processes that have ended with nothing open
  std::optional<Finding> finding_;
  std::int64_t issued_total_ = 0, issued_at_finding_ = 0;
};

}  // namespace shardlab::control
