// One simulated run: all processes of a cluster inside this one, step by step, with virtual time and without data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/control/ledger.h"
#include "scenarios/simulate/process_plan.h"
#include "scenarios/simulate/schedule.h"

namespace shardlab::simulate {

// What goes wrong on purpose. Of a statement, a collective and a time one is given.
struct SimulatedFault {
  enum class Kind : std::uint8_t { kRaise, kExit, kKill, kHang, kDelay, kDisconnect, kSlowLink, kNothing };
  Kind kind = Kind::kRaise;
  std::vector<int> processes;
  std::string statement;  // its pointer
  std::int64_t iteration = 0;
  std::int64_t collective = -1;
  std::int64_t after_ms = -1;
  int exit_code = 0;
  std::int64_t delay_ms = 0;
  double factor = 1;  // of a slow link
  std::string text;   // of the error that is raised
};

struct SimulationOptions {
  std::vector<SimulatedFault> faults;
  // Every send waits for its receive, as with a transport that buffers nothing.
  bool unbuffered_sends = false;
  std::int64_t stuck_ms = 10'000;
  bool keeps_log = false;
};

// Something that took virtual time: a launch, or a read.
struct Happened {
  int process = 0;
  const Event* event = nullptr;
  std::int64_t begin_ns = 0, end_ns = -1;  // of a launch: issued, matched; -1: never
};

// Deterministic: the same plans, options and choices give the same run. The ledger and the rules are those of a real run, and so is the
// look-ahead: after a finding each process issues until its next host-visible read, at most kLookAheadCalls.
//
// A thread is enabled when its next event can happen: a read when what it needs is matched and the run is not poisoned, a join when the
// other issuer has ended. A step takes a thread over events that concern nobody else up to and with the next one that does.
class Simulation {
 public:
  static constexpr std::int64_t kLookAheadCalls = 1000;
  static constexpr std::int64_t kUnmatchedMax = 1024;  // calls of a process, before its next issue waits
  static constexpr std::int64_t kIssueNs = 1'000, kCallNs = 10'000;

  Simulation(std::vector<std::shared_ptr<const ProcessPlan>> plans, SimulationOptions options);

  const std::vector<ThreadId>& enabled() const { return enabled_; }
  // The enabled thread at `index` goes on.
  void step(std::size_t index);
  int index_of(ThreadId thread) const;  // in enabled(); -1
  // Nothing is enabled. Declares what stands still for good, and judges.
  void finish();
  void run(Schedule& schedule);

  const std::vector<Diagnosis>& diagnoses() const { return diagnoses_; }
  const Evidence& evidence() const { return evidence_; }
  const std::vector<ThreadId>& choices() const { return choices_; }
  std::int64_t steps() const { return std::int64_t(choices_.size()); }
  int threads() const { return threads_; }
  std::int64_t virtual_ns() const;
  const std::vector<Happened>& log() const { return log_; }  // in the order of the schedule; empty unless kept
  std::int64_t clock_of(int process) const { return processes_[std::size_t(process)].clock_ns; }
  const std::set<int>& struck() const { return struck_; }  // faults, by number
  // The state that decides all that can follow, for exploration: two runs with equal ones go on alike.
  std::string state_key() const;
  // Threads of one process decide nothing between them when it has one issuer.
  bool is_deterministic(int process) const { return plans_[std::size_t(process)]->issuers == 1; }
  // Every issuer of the process that has not ended can go on, but for those that wait for another one of it.
  bool all_enabled(int process) const;

 private:
  struct Thread {
    std::size_t next = 0;
    bool begun = false, ended = false, enabled = false;
  };
  struct Process {
    std::vector<Thread> threads;
    std::vector<std::int64_t> order;     // calls in the order of issue, by number in the plan
    std::vector<std::int64_t> position;  // of each call of the plan in that order; -1: not issued
    std::vector<StepEvidence> steps;
    std::int64_t clock_ns = 0, collectives = 0, after_finding = 0;
    std::vector<std::size_t> logged;                 // of each call in that order, its place in the log; kept with the log alone
    std::int64_t ended_calls = 0;                    // of those, the ones whose end is in the log
    std::map<std::string, std::int64_t> executions;  // of statements that a fault names
    bool ended = false, hung = false, reads = false;
    double slowness = 1;                            // of its links
    const ProgramEvidence* last_program = nullptr;  // of its last call
    std::map<int, StepEvidence> waited;             // for processes behind slow links
    const Event* waits_at = nullptr;                // the read that it was last seen to wait at
    std::string at;
    std::int32_t at_statement = -1;
  };

  const Event* next_event(int process, int issuer) const;
  bool can_go(int process, int issuer) const;
  void refresh(int process);
  void advance(int process, int issuer);
  void issue(int process, const Event& event);
  bool strike(int process, const Event& event);
  void end_thread(int process, int issuer);
  void take_progress();
  bool is_matched(int process, std::int64_t call) const;
  void set_enabled(int process, int issuer, bool enabled);
  void note_block(int process);
  void keep(int process, StepEvidence step);
  void keep_read(int process, const Event& read);
  void log_matches(int process);
  void wait_for_links(int process, const Event& read);
  Diagnosis unexplained() const;

  std::vector<std::shared_ptr<const ProcessPlan>> plans_;
  SimulationOptions options_;
  control::Ledger ledger_;
  std::vector<Process> processes_;
  std::vector<ThreadId> enabled_;
  std::map<std::pair<int, int>, std::size_t> enabled_at_;
  std::vector<ThreadId> choices_;
  std::vector<Happened> log_;
  std::set<int> struck_;
  int threads_ = 0;
  bool poisoned_ = false, has_faults_ = false;
  std::vector<Diagnosis> diagnoses_;
  Evidence evidence_;
};

}  // namespace shardlab::simulate
