#include "runtime/control/ledger.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "traces/checks/positions.h"

namespace shardlab::control {

Ledger::Ledger(int num_processes) : processes_(std::size_t(num_processes)), has_progressed_(std::size_t(num_processes), false) {
  SL_CHECK(num_processes > 0, "{} processes", num_processes);
  for (int p = 0; p < num_processes; ++p) processes_[p].evidence.process = p;
}

Ledger::Process& Ledger::at(int process) {
  SL_CHECK(process >= 0 && process < num_processes(), "process {} of {}", process, num_processes());
  return processes_[process];
}
const Ledger::Process& Ledger::at(int process) const { return const_cast<Ledger*>(this)->at(process); }

void Ledger::declare(const ProgramEvidence& evidence) {
  auto [entry, is_new] = programs_.try_emplace({evidence.fingerprint, evidence.group});
  if (!is_new) return;
  entry->second = std::make_unique<Program>(Program{evidence, std::vector<bool>(processes_.size(), false), {}});
  std::vector<int>& members = entry->second->evidence.processes;
  std::erase_if(members, [&](int p) { return p < 0 || p >= num_processes(); });
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  for (int p : members) entry->second->includes[p] = true;
}

void Ledger::joined(int process, std::int64_t time_ns) {
  Process& joining = at(process);
  joining.evidence.joined = true;
  if (joining.evidence.state == ProcessState::kJoining) {
    joining.evidence.state = ProcessState::kRunning;
    joining.evidence.since_ns = time_ns;
  }
  // One that ended at once, with code 0, is only now known to be missed.
  for (const Process& other : processes_)
    if (other.evidence.state == ProcessState::kExited && other.evidence.since_ns != kEndedBefore)
      find(Finding::Kind::kDeath, {other.evidence.process}, std::max(time_ns, other.ended_ns));
}

void Ledger::issued(int process, CallEvidence call) {
  auto found = programs_.find({call.fingerprint, call.group});
  SL_CHECK(found != programs_.end(), "process {} issued {} before it declared its program", process, call.op);
  Process& issuer = at(process);
  Program& program = *found->second;
  if (issuer.ended || !program.includes[process]) return;  // who owns no device of a launch is never waited for
  ++issuer.evidence.issued;
  ++issued_total_;
  call.matched = false;
  std::int64_t time_ns = call.issued_ns;
  issuer.queue.push_back({std::move(call), &program});
  if (issuer.queue.size() > 1) return;
  issuer.head_since_ns = std::max(issuer.head_since_ns, time_ns);
  head_changed(process);
}

void Ledger::state(int process, ProcessState state, const std::string& doing, const std::string& where, std::int32_t statement,
                   std::int64_t time_ns) {
  Process& changing = at(process);
  if (changing.ended) return;
  ProcessEvidence& evidence = changing.evidence;
  evidence.state = state;
  evidence.doing = doing;
  evidence.where = where;
  evidence.statement = statement;
  evidence.since_ns = time_ns;
}

void Ledger::raised(int process, const std::string& error, const std::string& where, std::int32_t statement, std::int64_t time_ns) {
  Process& raising = at(process);
  if (raising.ended) return;
  raising.evidence.error = error;
  raising.evidence.where = where;
  raising.evidence.statement = statement;
  end(process, ProcessState::kRaised, time_ns);
}

void Ledger::leaving(int process, std::int64_t time_ns) {
  Process& goer = at(process);
  if (goer.ended || goer.leaving) return;
  goer.leaving = true;
  if (goer.queue.empty()) {
    end(process, ProcessState::kLeft, time_ns);
  } else {
    goer.evidence.state = ProcessState::kReading;
    goer.evidence.doing = "leave";
    goer.evidence.since_ns = time_ns;
  }
}

void Ledger::died(int process, int exit_code, int signal, std::int64_t time_ns) {
  Process& dead = at(process);
  ProcessState before = dead.evidence.state;
  dead.evidence.exit_code = exit_code;
  dead.evidence.signal = signal;
  if (before == ProcessState::kRaised || before == ProcessState::kExited || before == ProcessState::kKilled) return;
  if (before == ProcessState::kLeft && exit_code == 0 && signal == 0) return;
  end(process, signal != 0 ? ProcessState::kKilled : ProcessState::kExited, time_ns);
  bool anyone = std::any_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.evidence.joined; });
  if (signal != 0 || exit_code != 0 || anyone) find(Finding::Kind::kDeath, {process}, time_ns);
}

void Ledger::absent(int process, bool left, int exit_code, int signal) {
  Process& gone = at(process);
  gone.evidence.exit_code = exit_code;
  gone.evidence.signal = signal;
  gone.evidence.joined = true;
  end(process, left ? ProcessState::kLeft : signal != 0 ? ProcessState::kKilled : ProcessState::kExited, kEndedBefore);
}

YetToChoose Ledger::yet_to_choose() const {
  std::vector<ToldSteps> told;
  for (const Process& each : processes_) told.push_back({each.evidence.process, &each.evidence.steps});
  // What all have matched runs, whatever comes later.
  return shardlab::yet_to_choose(told, [this](int process, const RunOnSet& launch) {
    const auto& matched = at(process).matched;
    return std::any_of(matched.begin(), matched.end(),
                       [&](const CallEvidence& call) { return std::uint32_t(call.group) == launch.set && call.seq >= launch.run; });
  });
}

void Ledger::recent(int process, std::vector<StepEvidence> steps, const std::string& at_line, std::int32_t statement) {
  ProcessEvidence& evidence = at(process).evidence;
  auto take = [&](StepEvidence::Kind kind, std::vector<StepEvidence>& into) {
    into.clear();
    std::erase_if(steps, [&](StepEvidence& step) {
      if (step.kind != kind) return false;
      into.push_back(std::move(step));
      return true;
    });
  };
  take(StepEvidence::Kind::kUnused, evidence.unused);
  take(StepEvidence::Kind::kWaited, evidence.waited);
  take(StepEvidence::Kind::kCalled, evidence.callers);
  evidence.steps = std::move(steps);
  evidence.at = at_line;
  evidence.at_statement = statement;
}

void Ledger::last_seen(int process, const std::string& at_line, std::int32_t statement) {
  at(process).evidence.at = at_line;
  at(process).evidence.at_statement = statement;
}

void Ledger::stuck(int process) { at(process).evidence.state = ProcessState::kSilent; }
void Ledger::stopped(int process) { at(process).evidence.state = ProcessState::kStopped; }
void Ledger::lost(int process) {
  stopped(process);
  at(process).evidence.exit_code = kDisappeared;
}

bool Ledger::others_blocked(int process, std::int64_t since_ns) const {
  return std::any_of(processes_.begin(), processes_.end(), [&](const Process& other) {
    ProcessState state = other.evidence.state;
    bool blocked = state == ProcessState::kWaiting || state == ProcessState::kReading;
    return blocked && other.evidence.process != process && other.evidence.since_ns <= since_ns;
  });
}

std::vector<int> Ledger::awaited() const {
  std::vector<int> result;
  for (int p = 0; p < num_processes(); ++p) {
    const Process& process = at(p);
    bool runs = process.evidence.state == ProcessState::kRunning || process.evidence.state == ProcessState::kSilent;
    if (process.queue.empty() && !process.ended && !process.leaving && runs && awaited_since(p) >= 0) result.push_back(p);
  }
  return result;
}

std::int64_t Ledger::awaited_since(int process) const {
  std::int64_t first = -1;
  for (const auto& [key, program] : standing_)
    if (program->includes[std::size_t(process)])
      for (int p : program->at_head) first = first < 0 ? at(p).head_since_ns : std::min(first, at(p).head_since_ns);
  return first;
}

void Ledger::report_finding(std::vector<int> processes, std::int64_t time_ns) {
  find(Finding::Kind::kReported, std::move(processes), time_ns);
}

void Ledger::report_silent(std::vector<int> processes, std::int64_t time_ns) { find(Finding::Kind::kDeath, std::move(processes), time_ns); }

bool Ledger::all_ended() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.ended; });
}

std::vector<int> Ledger::take_progress() {
  for (int p : progressed_) has_progressed_[std::size_t(p)] = false;
  std::vector<int> processes = std::exchange(progressed_, {});
  std::sort(processes.begin(), processes.end());
  return processes;
}

void Ledger::end(int process, ProcessState state, std::int64_t time_ns) {
  Process& ending = at(process);
  ending.evidence.state = state;
  ending.evidence.since_ns = time_ns;
  ending.ended = true;
  ending.ended_ns = std::max(time_ns, ending.head_since_ns);
  progress(process);
  if (!ending.queue.empty()) return;
  ++gone_;
  seek_needed(process);
}

Evidence Ledger::evidence(std::int64_t now_ns) const {
  Evidence evidence{.now_ns = now_ns};
  if (finding_) {
    evidence.complete_ns = finding_->complete_ns;
    evidence.look_ahead_calls = issued_total_ - issued_at_finding_;
  }
  std::map<Key, const Program*> used;
  for (const Process& process : processes_) {
    ProcessEvidence copy = process.evidence;
    for (const CallEvidence& call : process.matched) copy.calls.push_back(call);
    for (const OpenCall& open : process.queue) copy.calls.push_back(open.call);
    for (const auto& [name, channel] : channels_)
      if (channel.from == process.evidence.process) copy.calls.insert(copy.calls.end(), channel.sent.begin(), channel.sent.end());
    for (const CallEvidence& call : copy.calls) used[{call.fingerprint, call.group}] = programs_.at({call.fingerprint, call.group}).get();
    evidence.processes.push_back(std::move(copy));
  }
  for (const auto& [key, program] : used) evidence.programs.push_back(program->evidence);
  return evidence;
}

}  // namespace shardlab::control
