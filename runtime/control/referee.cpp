#include "runtime/control/referee.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/checks/check_def.h"
#include "traces/checks/choices.h"
#include "traces/checks/definitions.h"
#include "traces/checks/wording.h"

namespace shardlab::control {

VerdictRef make_verdict(std::vector<Diagnosis> diagnoses) {
  auto verdict = std::make_shared<Verdict>();
  verdict->diagnoses = std::move(diagnoses);
  if (!verdict->diagnoses.empty()) {
    verdict->code = verdict->diagnoses.front().code;
    verdict->text = text_of(verdict->diagnoses.front());
  }
  return verdict;
}

Referee::Referee(RefereeOptions options)
    : options_(std::move(options)),
      ledger_(options_.num_processes),
      host_waits_(options_.num_processes),
      awaited_by_(std::size_t(options_.num_processes)),
      sides_(std::size_t(options_.num_processes)),
      judge_([this](std::stop_token stop) { judge_loop(stop); }) {}

Referee::~Referee() = default;

void Referee::listen(int process, Listener* listener) {
  std::lock_guard lock(mutex_);
  sides_.at(std::size_t(process)).listener = listener;
  if (!listener) return;
  if (ledger_.matched_of(process) > 0) listener->matched(ledger_.matched_of(process));
  if (found_) listener->poison(!raised().empty());
  if (verdict_) listener->verdict(verdict_);
}

void Referee::declare(const ProgramEvidence& program) {
  std::lock_guard lock(mutex_);
  ledger_.declare(program);
}

void Referee::joined(int process, comm::Ns time) {
  std::lock_guard lock(mutex_);
  time = here(process, time);
  ledger_.joined(process, time);
  after_event();
}

void Referee::issued(int process, CallEvidence call) {
  std::lock_guard lock(mutex_);
  call.issued_ns = here(process, call.issued_ns);
  heard(process, call.issued_ns);
  ledger_.issued(process, std::move(call));
  after_event();
}

std::vector<int> Referee::raised() const {
  std::vector<int> raised;
  for (int p = 0; p < ledger_.num_processes(); ++p)
    if (ledger_.state_of(p) == ProcessState::kRaised) raised.push_back(p);
  return raised;
}

void Referee::reading(int process, Reading reading, comm::Ns time) {
  std::lock_guard lock(mutex_);
  time = here(process, time);
  heard(process, time);
  ledger_.state(process, ProcessState::kReading, reading.doing, reading.where, reading.statement, time);
  host_waits_.told(process, reading.visit);
  sides_.at(std::size_t(process)).reading = std::move(reading);
  after_event();
}

void Referee::running(int process, comm::Ns time) {
  std::lock_guard lock(mutex_);
  time = here(process, time);
  heard(process, time);
  Side& side = sides_.at(std::size_t(process));
  side.reading.reset();
  host_waits_.told(process, 0);
  // What it read is agreed on, and its data may still be on their way.
  if (side.waiting)
    ledger_.state(process, ProcessState::kWaiting, side.waiting->doing, side.waiting->where, side.waiting->statement, time);
  else
    ledger_.state(process, ProcessState::kRunning, "", "", -1, time);
}

void Referee::waiting(int process, const std::string& doing, const std::string& where, std::int32_t statement, comm::Ns time) {
  std::lock_guard lock(mutex_);
  time = here(process, time);
  heard(process, time);
  Side& side = sides_.at(std::size_t(process));
  side.waiting = doing.empty() ? std::nullopt : std::optional(Reading{-1, false, doing, where, statement});
  ask_those_who_wait();
  // A read in progress says more than the call that the executor is in.
  if (side.reading) return;
  ledger_.state(process, doing.empty() ? ProcessState::kRunning : ProcessState::kWaiting, doing, where, statement, time);
}

void Referee::wire_mismatch(int process, int from, const std::string& what, comm::Ns time) {
  std::lock_guard lock(mutex_);
  if (wire_) return;
  wire_ = fmt::format("process {} received from process {} {}", process, from, what);
  wire_processes_ = {std::min(process, from), std::max(process, from)};
  wire_ns_ = here(process, time);
  changed_.notify_all();
}

void Referee::raised(int process, const std::string& error, const std::string& where, std::int32_t statement, comm::Ns time) {
  std::lock_guard lock(mutex_);
  time = here(process, time);
  ledger_.raised(process, error, where, statement, time);
  last_end_ns_ = std::max(last_end_ns_, time);
  after_event();
}

void Referee::leaving(int process, comm::Ns time) {
  std::lock_guard lock(mutex_);
  time = here(process, time);
  anyone_leaves_ = true;
  ledger_.leaving(process, time);
  ask_those_who_wait();
  last_end_ns_ = std::max(last_end_ns_, time);
  after_event();
}

void Referee::recent(int process, Recent recent) {
  std::lock_guard lock(mutex_);
  hear_recent(process, std::move(recent));
  if (found_ || ledger_.finding()) changed_.notify_all();
}

void Referee::hear_recent(int process, Recent recent) {
  bool by_choice = std::any_of(recent.steps.begin(), recent.steps.end(), is_choice);
  ledger_.recent(process, std::move(recent.steps), recent.at, recent.statement);
  sides_.at(std::size_t(process)).told_recent = true;
  if (by_choice) seek_diverged_choices();
}

// When one goes, nothing of it will come any more: who waits for data in a launch of all may be in a round that the other did not run.
// Those in other processes of the system tell by themselves.
void Referee::ask_those_who_wait() {
  if (!anyone_leaves_ || ledger_.finding()) return;
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    Side& side = sides_[std::size_t(p)];
    if (!side.waiting || !side.listener) continue;
    if (auto recent = side.listener->recent()) hear_recent(p, std::move(*recent));
  }
  if (ledger_.finding()) changed_.notify_all();
}

// Loops and branches within one launch that ended differently: calls agree, and what follows from them does not.
void Referee::seek_diverged_choices() {
  if (ledger_.finding()) return;
  Evidence evidence = ledger_.evidence(comm::now_ns());
  std::vector<Diagnosis> found = diverged_choices(Positions(evidence));
  if (found.empty()) return;
  std::vector<int> processes;
  for (const Participant& side : found.front().participants) processes.push_back(side.process);
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  ledger_.report_finding(processes, comm::now_ns());
}

void Referee::looked_ahead(int process) {
  std::lock_guard lock(mutex_);
  ++sides_.at(std::size_t(process)).looked_ahead;
  if (found_) changed_.notify_all();
}

void Referee::died(int process, int exit_code, int signal, comm::Ns time, Where place) {
  std::lock_guard lock(mutex_);
  if (place.known()) ledger_.last_seen(process, place.text(), place.statement);
  ledger_.died(process, exit_code, signal, time);
  last_end_ns_ = std::max(last_end_ns_, time);
  after_event();
}

void Referee::lost(int process, comm::Ns time, std::chrono::milliseconds silence) {
  std::lock_guard lock(mutex_);
  const comm::Ns now = comm::now_ns(), limit = std::chrono::nanoseconds(silence).count();
  std::vector<int> lost;
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    const Side& side = sides_[std::size_t(p)];
    bool silent = side.alive_ns != 0 && now - side.alive_ns >= limit;
    if (p == process || (silent && !ledger_.ended(p))) lost.push_back(p);
  }
  for (int p : lost) ledger_.lost(p);
  ledger_.report_silent(std::move(lost), time);
  changed_.notify_all();
}

void Referee::absent(int process, bool left, int exit_code, int signal) {
  std::lock_guard lock(mutex_);
  ledger_.absent(process, left, exit_code, signal);
}

void Referee::at_work(int process, comm::Ns now) {
  std::lock_guard lock(mutex_);
  sides_.at(std::size_t(process)).worked_ns = now;
}

void Referee::alive(int process, comm::Ns now) {
  std::lock_guard lock(mutex_);
  Side& side = sides_.at(std::size_t(process));
  side.alive_ns = now;
  if (!wire_) return;
  ++side.signs;
  changed_.notify_all();
}

comm::Ns Referee::here(int process, comm::Ns time) {
  constexpr comm::Ns kOneClock = 5'000'000;  // so late a word may come by the same clock
  Side& side = sides_.at(std::size_t(process));
  comm::Ns behind = comm::now_ns() - time;
  if (!side.clock_known || behind < side.behind_ns) side.behind_ns = behind;
  side.clock_known = true;
  bool same = side.behind_ns > -kOneClock && side.behind_ns < kOneClock;
  return same ? time : time + side.behind_ns;
}

Evidence Referee::evidence() const {
  std::lock_guard lock(mutex_);
  return verdict_ ? final_evidence_ : ledger_.evidence(comm::now_ns());
}

VerdictRef Referee::verdict() const {
  std::lock_guard lock(mutex_);
  return verdict_;
}

bool Referee::all_ended() const {
  std::lock_guard lock(mutex_);
  return ledger_.all_ended();
}

bool Referee::ended(int process) const {
  std::lock_guard lock(mutex_);
  return ledger_.ended(process);
}

std::optional<std::string> Referee::common_error() const {
  std::lock_guard lock(mutex_);
  if (verdict_) return std::nullopt;
  Evidence evidence = ledger_.evidence(0);
  const std::string& first = evidence.processes.front().error;
  for (const ProcessEvidence& process : evidence.processes)
    if (process.state != ProcessState::kRaised || process.error != first) return std::nullopt;
  return first;
}

bool Referee::wait_over(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return verdict_ || ledger_.all_ended(); });
}

void Referee::conclude() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return verdict_ || closed_ || (examined_ && !ledger_.finding()) || !ledger_.all_ended(); });
}

void Referee::came(const std::string& barrier, int process, std::uint64_t visit, const std::set<int>& participants,
                   std::chrono::milliseconds timeout) {
  std::lock_guard lock(mutex_);
  host_waits_.came(barrier, process, visit, participants, timeout <= options_.poll);
  after_event();
}

void Referee::barrier_over(const std::string& barrier) {
  std::lock_guard lock(mutex_);
  host_waits_.barrier_over(barrier);
}

void Referee::wants_key(int process, std::uint64_t visit, std::chrono::milliseconds timeout) {
  std::lock_guard lock(mutex_);
  if (process < 0 || process >= ledger_.num_processes()) return;
  host_waits_.wants_key(process, visit, timeout <= options_.poll);
  after_event();
}

void Referee::key_over(int process, std::uint64_t visit) {
  std::lock_guard lock(mutex_);
  if (process < 0 || process >= ledger_.num_processes()) return;
  host_waits_.key_over(process, visit);
}

// Calls prove themselves; where somebody waits beside them, what each thread does counts too. What is found cannot change any more: whoever
// is in it is released only by another who is.
void Referee::seek_host_circle() {
  if (ledger_.finding() || !host_waits_.any()) return;
  const int n = ledger_.num_processes();
  std::vector<HostState> hosts(static_cast<std::size_t>(n));
  for (int p = 0; p < n; ++p) {
    const auto& reading = sides_[std::size_t(p)].reading;
    if (auto wait = host_waits_.of(p))
      hosts[std::size_t(p)] = {wait->for_all ? HostState::Kind::kAwaitsAll : HostState::Kind::kAwaitsAny, wait->missing};
    else if (reading && reading->visit == 0 && !reading->poisoned && ledger_.first_open(p) >= 0 && ledger_.first_open(p) <= reading->launch)
      hosts[std::size_t(p)].kind = HostState::Kind::kReads;
  }
  std::vector<bool> may = ledger_.may_go_on(hosts);
  std::vector<int> never;
  for (int p = 0; p < n; ++p)
    if (!may[std::size_t(p)] && !ledger_.issues_no_more(p)) never.push_back(p);
  if (never.empty()) return;
  for (int p : never) {
    const HostState& host = hosts[std::size_t(p)];
    for (int q : never)
      if (q != p && (host.kind == HostState::Kind::kAwaitsAny || (host.awaited && host.awaited->contains(q))))
        awaited_by_[std::size_t(p)].push_back(q);
  }
  Evidence evidence = evidence_now();
  std::int64_t complete_ns = 0;
  for (int p : never) complete_ns = std::max(complete_ns, evidence.processes[std::size_t(p)].since_ns);
  if (kDeadlock.run(evidence).empty())
    for (auto& awaited : awaited_by_) awaited.clear();
  else
    ledger_.report_finding(never, complete_ns);
}

Evidence Referee::evidence_now() const {
  Evidence evidence = ledger_.evidence(comm::now_ns());
  for (ProcessEvidence& process : evidence.processes) process.awaits = awaited_by_[std::size_t(process.process)];
  return evidence;
}

void Referee::after_event() {
  seek_host_circle();
  for (int p : ledger_.take_progress()) {
    Listener* listener = sides_[p].listener;
    if (!listener) continue;
    listener->matched(ledger_.matched_of(p));
    if (ledger_.has_left(p) && !found_) listener->left();
  }
  if (found_ || wire_ || ledger_.finding() || ledger_.all_ended()) changed_.notify_all();
}

}  // namespace shardlab::control
