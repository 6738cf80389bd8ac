#include "scenarios/simulate/simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "traces/checks/check_def.h"

namespace shardlab::simulate {
namespace {

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

Simulation::Simulation(std::vector<std::shared_ptr<const ProcessPlan>> plans, SimulationOptions options)
    : plans_(std::move(plans)), options_(std::move(options)), ledger_(int(plans_.size())), processes_(plans_.size()) {
  has_faults_ = !options_.faults.empty();
  for (int p = 0; p < int(plans_.size()); ++p) {
    Process& process = processes_[std::size_t(p)];
    process.threads.resize(std::size_t(plans_[std::size_t(p)]->issuers));
    process.threads[0].begun = true;
    process.position.assign(std::size_t(plans_[std::size_t(p)]->calls), -1);
    threads_ += plans_[std::size_t(p)]->issuers;
    ledger_.joined(p, 0);
  }
  for (const SimulatedFault& fault : options_.faults)
    if (!fault.statement.empty())
      for (int p : fault.processes) processes_.at(std::size_t(p)).executions[fault.statement] = 0;
  for (int p = 0; p < int(plans_.size()); ++p) refresh(p);
}

// ---- who can go

const Event* Simulation::next_event(int process, int issuer) const {
  const ProcessPlan& plan = *plans_[std::size_t(process)];
  std::size_t i = processes_[std::size_t(process)].threads[std::size_t(issuer)].next;
  if (plan.issuers > 1)
    while (i < plan.events.size() && plan.events[i].issuer != issuer) ++i;
  return i < plan.events.size() ? &plan.events[i] : nullptr;
}

bool Simulation::is_matched(int process, std::int64_t call) const {
  const Process& state = processes_[std::size_t(process)];
  std::int64_t matched = ledger_.matched_of(process);
  if (call == Event::kEverything) return matched >= std::int64_t(state.order.size());
  return state.position[std::size_t(call)] >= 0 && state.position[std::size_t(call)] < matched;
}

bool Simulation::can_go(int process, int issuer) const {
  const Process& state = processes_[std::size_t(process)];
  const Thread& thread = state.threads[std::size_t(issuer)];
  if (state.ended || state.hung || !thread.begun || thread.ended) return false;
  const Event* event = next_event(process, issuer);
  if (!event) {
    if (issuer > 0) return true;
    bool alone =
        std::all_of(state.threads.begin() + 1, state.threads.end(), [](const Thread& other) { return other.ended || !other.begun; });
    return alone && (!poisoned_ || plans_[std::size_t(process)]->error);
  }
  switch (event->kind) {
    case Event::Kind::kCall:
      if (poisoned_) return state.after_finding < kLookAheadCalls;
      return std::int64_t(state.order.size()) - ledger_.matched_of(process) < kUnmatchedMax;
    case Event::Kind::kRead:
      // What was matched before the poison is sound; whoever reads it goes on, to say what it would do next.
      return event->needs < 0 || is_matched(process, event->needs);
    case Event::Kind::kJoin:
      return state.threads[std::size_t(event->other)].ended;
    default:
      return true;
  }
}

void Simulation::set_enabled(int process, int issuer, bool enabled) {
  Thread& thread = processes_[std::size_t(process)].threads[std::size_t(issuer)];
  if (thread.enabled == enabled) return;
  thread.enabled = enabled;
  ThreadId id{process, issuer};
  if (enabled) {
    enabled_at_[{process, issuer}] = enabled_.size();
    enabled_.push_back(id);
    return;
  }
  auto at = enabled_at_.find({process, issuer});
  std::size_t hole = at->second;
  enabled_at_.erase(at);
  if (hole + 1 != enabled_.size()) {
    enabled_[hole] = enabled_.back();
    enabled_at_[{enabled_[hole].process, enabled_[hole].issuer}] = hole;
  }
  enabled_.pop_back();
}

int Simulation::index_of(ThreadId thread) const {
  auto found = enabled_at_.find({thread.process, thread.issuer});
  return found == enabled_at_.end() ? -1 : int(found->second);
}

void Simulation::refresh(int process) {
  for (int issuer = 0; issuer < int(processes_[std::size_t(process)].threads.size()); ++issuer)
    set_enabled(process, issuer, can_go(process, issuer));
  note_block(process);
}

// A process whose first thread stands at a read is told as one that waits there.
void Simulation::note_block(int process) {
  Process& state = processes_[std::size_t(process)];
  if (state.ended || state.hung) return;
  const Thread& main = state.threads[0];
  const Event* event = next_event(process, 0);
  bool reads = !main.enabled && (!event || event->kind == Event::Kind::kRead);
  if (reads == state.reads) return;
  state.reads = reads;
  if (reads && event) keep_read(process, *event);
  if (reads && event)
    ledger_.state(process, ProcessState::kReading, event->step.what, event->step.where, event->step.statement, state.clock_ns);
  else
    ledger_.state(process, reads ? ProcessState::kReading : ProcessState::kRunning, reads ? "exit" : "", "", -1, state.clock_ns);
}

// ---- what happens

void Simulation::step(std::size_t index) {
  ThreadId thread = enabled_.at(index);
  choices_.push_back(thread);
  advance(thread.process, thread.issuer);
  refresh(thread.process);
  take_progress();
}

void Simulation::take_progress() {
  for (int p : ledger_.take_progress()) {
    if (options_.keeps_log) log_matches(p);
    refresh(p);
  }
  if (!ledger_.finding() || poisoned_) return;
  poisoned_ = true;
  for (int p = 0; p < int(processes_.size()); ++p) refresh(p);
}

void Simulation::advance(int process, int issuer) {
  Process& state = processes_[std::size_t(process)];
  Thread& thread = state.threads[std::size_t(issuer)];
  while (true) {
    if (!can_go(process, issuer)) return;
    const Event* event = next_event(process, issuer);
    if (!event) return end_thread(process, issuer);
    if (has_faults_ && strike(process, *event)) return;
    thread.next = std::size_t(event - plans_[std::size_t(process)]->events.data()) + 1;
    switch (event->kind) {
      case Event::Kind::kStatement:
        state.at = event->step.where;
        state.at_statement = event->step.statement;
        break;
      case Event::Kind::kStep:
        keep(process, event->step);
        if (options_.keeps_log) log_.push_back({process, event, state.clock_ns, state.clock_ns});
        break;
      case Event::Kind::kRead:
        if (event->needs < 0) break;
        keep_read(process, *event);
        state.waits_at = nullptr;
        if (options_.keeps_log) log_.push_back({process, event, state.clock_ns});
        state.clock_ns = std::max(state.clock_ns, ledger_.matched_ns(process) + kCallNs);
        if (has_faults_) wait_for_links(process, *event);
        if (options_.keeps_log) log_.back().end_ns = state.clock_ns;
        break;
      case Event::Kind::kCall:
        return issue(process, *event);
      case Event::Kind::kSpawn:
        state.threads[std::size_t(event->other)].begun = true;
        return;
      case Event::Kind::kJoin:
        break;
    }
  }
}

void Simulation::keep(int process, StepEvidence step) {
  Process& state = processes_[std::size_t(process)];
  step.after = std::int64_t(state.order.size());
  state.steps.push_back(std::move(step));
  if (state.steps.size() > 2 * kStepsRemembered) state.steps.erase(state.steps.begin(), state.steps.end() - kStepsRemembered);
}

// A read is known from when it is waited at.
void Simulation::keep_read(int process, const Event& read) {
  Process& state = processes_[std::size_t(process)];
  if (state.waits_at == &read) return;
  state.waits_at = &read;
  keep(process, read.step);
}

void Simulation::log_matches(int process) {
  Process& state = processes_[std::size_t(process)];
  for (; state.ended_calls < ledger_.matched_of(process); ++state.ended_calls)
    log_[state.logged[std::size_t(state.ended_calls)]].end_ns = ledger_.matched_ns(process);
}

// The data of the last call comes from all who took part; from behind a slow link it takes as many times as long.
void Simulation::wait_for_links(int process, const Event& read) {
  Process& state = processes_[std::size_t(process)];
  if (!state.last_program) return;
  std::int64_t longest_ns = 0;
  for (int peer : state.last_program->processes) {
    double slowness = processes_[std::size_t(peer)].slowness;
    if (peer == process || slowness <= 1) continue;
    std::int64_t ns = std::int64_t(double(kCallNs) * (slowness - 1));
    longest_ns = std::max(longest_ns, ns);
    auto [waited, is_new] = state.waited.try_emplace(peer, read.step);
    waited->second.kind = StepEvidence::Kind::kWaited;
    waited->second.after = peer;
    waited->second.value = std::to_string((is_new ? 0 : std::stoll(waited->second.value)) + ns);
  }
  state.clock_ns += longest_ns;
}

void Simulation::issue(int process, const Event& event) {
  Process& state = processes_[std::size_t(process)];
  state.clock_ns += kIssueNs;
  if (poisoned_) ++state.after_finding;
  state.position[std::size_t(event.number)] = std::int64_t(state.order.size());
  state.order.push_back(event.number);
  if (options_.keeps_log) {
    state.logged.push_back(log_.size());
    log_.push_back({process, &event, state.clock_ns});
  }
  state.collectives += event.collectives;
  state.last_program = event.program.get();
  CallEvidence call = event.call;
  call.issued_ns = state.clock_ns;
  if (options_.unbuffered_sends && event.program->buffered) {
    ProgramEvidence unbuffered = *event.program;
    unbuffered.buffered = false;
    ledger_.declare(unbuffered);
  } else {
    ledger_.declare(*event.program);
  }
  ledger_.issued(process, std::move(call));
}

void Simulation::end_thread(int process, int issuer) {
  Process& state = processes_[std::size_t(process)];
  state.threads[std::size_t(issuer)].ended = true;
  if (issuer > 0) return;
  state.ended = true;
  const ProcessPlan& plan = *plans_[std::size_t(process)];
  if (plan.error)
    ledger_.raised(process, *plan.error, plan.error_where, plan.error_statement, state.clock_ns);
  else
    ledger_.leaving(process, state.clock_ns);
}

// Whether the process goes no further because of a fault.
bool Simulation::strike(int process, const Event& event) {
  Process& state = processes_[std::size_t(process)];
  std::int64_t execution = 0;
  if (event.kind == Event::Kind::kStatement)
    if (auto counted = state.executions.find(event.pointer); counted != state.executions.end()) execution = counted->second++;
  for (std::size_t i = 0; i < options_.faults.size(); ++i) {
    const SimulatedFault& fault = options_.faults[i];
    if (!std::binary_search(fault.processes.begin(), fault.processes.end(), process)) continue;
    bool at_statement = event.kind == Event::Kind::kStatement && fault.statement == event.pointer && fault.iteration == execution;
    bool at_call =
        event.collectives > 0 && fault.collective >= state.collectives && fault.collective < state.collectives + event.collectives;
    bool at_time = fault.after_ms >= 0 && event.kind == Event::Kind::kStatement && state.clock_ns >= fault.after_ms * kMs;
    if (!at_statement && !(fault.collective >= 0 && at_call) && !at_time) continue;
    int number = int(i * processes_.size()) + process;
    if (!struck_.insert(number).second) continue;
    state.at = event.step.where.empty() ? event.call.where : event.step.where;
    state.at_statement = event.step.where.empty() ? event.call.statement : event.step.statement;
    switch (fault.kind) {
      case SimulatedFault::Kind::kDelay:
        state.clock_ns += fault.delay_ms * kMs;
        continue;
      case SimulatedFault::Kind::kSlowLink:
        state.slowness = fault.factor;
        continue;
      case SimulatedFault::Kind::kNothing:
        continue;
      case SimulatedFault::Kind::kHang:
        state.hung = true;
        return true;
      case SimulatedFault::Kind::kRaise:
        ledger_.raised(process, fault.text, state.at, state.at_statement, state.clock_ns);
        break;
      case SimulatedFault::Kind::kExit:
        ledger_.died(process, fault.exit_code, 0, state.clock_ns);
        break;
      case SimulatedFault::Kind::kDisconnect:
        ledger_.died(process, kDisappeared, 0, state.clock_ns);
        break;
      case SimulatedFault::Kind::kKill:
        ledger_.died(process, 0, 9, state.clock_ns);
        break;
    }
    state.ended = true;
    return true;
  }
  return false;
}

// ---- the end

void Simulation::run(Schedule& schedule) {
  ThreadId last{-1, 0};
  while (!enabled_.empty() && !(ledger_.finding() && ledger_.finding()->kind == control::Finding::Kind::kDeath)) {
    std::size_t chosen = schedule.choose(enabled_, index_of(last));
    last = enabled_.at(chosen);
    step(chosen);
  }
  finish();
}

void Simulation::finish() {
  if (!ledger_.finding()) {
    std::vector<int> stuck;
    std::vector<int> awaited = ledger_.awaited();
    bool others_ended = true;
    for (const Process& process : processes_) others_ended = others_ended && (process.hung || process.ended);
    for (int p = 0; p < int(processes_.size()); ++p)
      if (processes_[std::size_t(p)].hung && (others_ended || std::find(awaited.begin(), awaited.end(), p) != awaited.end()))
        stuck.push_back(p);
    for (int p : stuck) ledger_.stuck(p);
    if (!stuck.empty()) ledger_.report_finding(stuck, virtual_ns() + options_.stuck_ms * kMs);
  }
  for (int p = 0; p < int(processes_.size()); ++p) {
    Process& state = processes_[std::size_t(p)];
    if (state.steps.size() > kStepsRemembered) state.steps.erase(state.steps.begin(), state.steps.end() - kStepsRemembered);
    std::vector<StepEvidence> steps = state.steps;
    for (const auto& [peer, waited] : state.waited) steps.push_back(waited);
    ledger_.recent(p, std::move(steps), state.at, state.at_statement);
  }
  evidence_ = ledger_.evidence(virtual_ns());
  diagnoses_ = judge(evidence_);
  bool all_ended = std::all_of(processes_.begin(), processes_.end(), [](const Process& process) { return process.ended; });
  if (diagnoses_.empty() && (ledger_.finding() || !all_ended)) diagnoses_.push_back(unexplained());
}

// Nothing can go on, and no rule says why: told all the same, never passed over.
Diagnosis Simulation::unexplained() const {
  Diagnosis diagnosis{.code = "deadlock", .severity = "error", .tie = true};
  for (const ProcessEvidence& process : evidence_.processes)
    if (process.state != ProcessState::kLeft) diagnosis.processes.push_back(process.process);
  diagnosis.message = fmt::format("processes {} can never go on", fmt::join(diagnosis.processes, ", "));
  for (int p : diagnosis.processes) diagnosis.participants.push_back({.process = p});
  return diagnosis;
}

std::int64_t Simulation::virtual_ns() const {
  std::int64_t latest = 0;
  for (const Process& process : processes_) latest = std::max(latest, process.clock_ns);
  return latest;
}

bool Simulation::all_enabled(int process) const {
  const Process& state = processes_[std::size_t(process)];
  for (std::size_t issuer = 0; issuer < state.threads.size(); ++issuer) {
    const Thread& thread = state.threads[issuer];
    if (thread.enabled || thread.ended || !thread.begun) continue;
    const Event* event = next_event(process, int(issuer));
    if (event && event->kind != Event::Kind::kJoin) return false;
  }
  return true;
}

std::string Simulation::state_key() const {
  std::string key;
  auto add = [&](std::int64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    for (const Thread& thread : processes_[p].threads) add(thread.ended ? -1 : std::int64_t(thread.next) * 2 + thread.begun);
    if (processes_[p].threads.size() == 1) continue;
    // What is matched is decided by the order of issue of all: the order of what is still open is what differs.
    for (std::size_t i = std::size_t(ledger_.matched_of(int(p))); i < processes_[p].order.size(); ++i) add(processes_[p].order[i]);
    add(-2);
  }
  return key;
}

}  // namespace shardlab::simulate
