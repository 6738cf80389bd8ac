#include "runtime/control/referee.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/checks/check_def.h"
#include "traces/checks/choices.h"
#include "traces/checks/definitions.h"
#include "traces/checks/messages.h"
#include "traces/checks/wording.h"

namespace shardlab::control {
namespace {

constexpr std::chrono::milliseconds kLap{250}, kRaisedGrace{300};
constexpr int kTimesForChoices = 20;  // of the look-ahead, for who has not come to a loop that others part ways in

}  // namespace

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
  if (found_) listener->poison();
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

void Referee::absent(int process, bool left, int exit_code, int signal) {
  std::lock_guard lock(mutex_);
  ledger_.absent(process, left, exit_code, signal);
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
  changed_.wait(lock, [&] { return verdict_ || (examined_ && !ledger_.finding()) || !ledger_.all_ended(); });
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
  if (found_ || ledger_.finding() || ledger_.all_ended()) changed_.notify_all();
}

bool Referee::settled(int process) const {
  const Side& side = sides_[process];
  if (ledger_.issues_no_more(process) || !awaited_by_[std::size_t(process)].empty()) return true;
  if (side.listener && !side.told_recent) return false;
  if (ledger_.issued_of(process) - side.issued_at_finding >= options_.look_ahead_calls) return true;
  if (!side.reading) return false;
  std::int64_t open = ledger_.first_open(process);
  return side.reading->poisoned || (open >= 0 && open <= side.reading->launch);
}

// Silence is no proof, but after so long it is told: somebody waits for a process that is alive, in no call, and says nothing; or for one
// whose heartbeat is missing, whatever it has issued.
void Referee::seek_stuck() {
  comm::Ns now = comm::now_ns(), limit = std::chrono::nanoseconds(options_.stuck).count();
  // Who was stopped itself has heard nobody meanwhile.
  if (sought_ns_ != 0 && now - sought_ns_ > limit) awake_ns_ = now;
  sought_ns_ = now;
  std::vector<int> stuck;
  for (int p : ledger_.awaited()) {
    comm::Ns quiet_since = std::max({sides_[std::size_t(p)].heard_ns, ledger_.awaited_since(p), awake_ns_});
    if (now - quiet_since >= limit) stuck.push_back(p);
  }
  for (int p : stuck) ledger_.stuck(p);
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    const Side& side = sides_[std::size_t(p)];
    if (side.alive_ns == 0 || ledger_.ended(p) || now - std::max(side.alive_ns, awake_ns_) < limit) continue;
    if (!ledger_.others_blocked(p, now - limit)) continue;
    ledger_.stopped(p);
    if (std::find(stuck.begin(), stuck.end(), p) == stuck.end()) stuck.push_back(p);
  }
  if (stuck.empty()) return;
  std::sort(stuck.begin(), stuck.end());
  ledger_.report_finding(stuck, now);
}

// Where all launches are matched, nobody but those who wait for its data needs a process that raised: it may have failed in a launch that
// they are in. Found once they all wait, and nothing has moved for a while.
void Referee::seek_raised() {
  std::vector<int> raised;
  comm::Ns moved_ns = last_end_ns_;
  bool anyone = false;
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    if (ledger_.state_of(p) == ProcessState::kRaised) raised.push_back(p);
    if (ledger_.ended(p)) continue;
    const Side& side = sides_[std::size_t(p)];
    if (!side.waiting && !side.reading) return;
    anyone = true;
    moved_ns = std::max(moved_ns, side.heard_ns);
  }
  if (raised.empty() || !anyone || comm::now_ns() - moved_ns < std::chrono::nanoseconds(kRaisedGrace).count()) return;
  ledger_.report_finding(std::move(raised), moved_ns);
}

bool Referee::looks_ahead_no_more(int process, comm::Ns found_ns) const {
  const Side& side = sides_[std::size_t(process)];
  comm::Ns now = comm::now_ns();
  auto ns = [](std::chrono::milliseconds limit) { return std::chrono::nanoseconds(limit).count(); };
  if (!side.listener || !side.listener->tells_when_it_looked_ahead())
    return now - found_ns >= ns(options_.look_ahead) * (ledger_.lacks_choice(process) ? kTimesForChoices : 1);
  // Who has just joined has given no sign yet.
  comm::Ns last_sign = side.alive_ns != 0 ? side.alive_ns : found_ns;
  bool silent = now - std::max(last_sign, awake_ns_) >= ns(options_.silent);
  // Others wait for a word of it: whom the majority blames may hang on that.
  std::vector<int> awaited = ledger_.awaited();
  bool is_awaited = std::find(awaited.begin(), awaited.end(), process) != awaited.end();
  int needed = is_awaited || ledger_.lacks_choice(process) ? 2 : 1;
  return (side.looked_ahead >= needed && side.told_recent) || silent || now - found_ns >= ns(options_.stuck);
}

bool Referee::look_ahead_over(comm::Ns found_ns) const {
  if (ledger_.finding()->kind == Finding::Kind::kDeath) return true;
  for (int p = 0; p < ledger_.num_processes(); ++p)
    if (!settled(p) && !looks_ahead_no_more(p, found_ns)) return false;
  return true;
}

// Words come in order: after two more signs of life of both sides, all that they issued before the message is known.
bool Referee::wire_words_in() const {
  return std::all_of(wire_processes_.begin(), wire_processes_.end(), [&](int p) { return sides_[std::size_t(p)].signs >= 2; });
}

void Referee::await_words_on_wire(std::unique_lock<std::mutex>& lock, std::stop_token stop) {
  auto explained = [&] { return ledger_.finding() || ledger_.all_ended(); };
  changed_.wait_for(lock, stop, options_.wire_grace, explained);
  auto gives_signs = [&](int p) { return sides_[std::size_t(p)].alive_ns != 0; };
  if (std::all_of(wire_processes_.begin(), wire_processes_.end(), gives_signs))
    changed_.wait_for(lock, stop, options_.stuck, [&] { return explained() || wire_words_in(); });
}

// What those did last that can be asked at any time.
void Referee::hear_those_at_hand() {
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    if (!sides_[p].listener) continue;
    if (auto recent = sides_[p].listener->recent()) {
      ledger_.recent(p, std::move(recent->steps), recent->at, recent->statement);
      sides_[p].told_recent = true;
    }
  }
}

void Referee::judge_loop(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !changed_.wait_for(lock, stop, std::min<std::chrono::milliseconds>(options_.stuck / 4, kLap),
                                                      [&] { return ledger_.finding() || ledger_.all_ended() || wire_; })) {
    seek_stuck();
    seek_raised();
  }
  if (!stop.stop_requested() && !ledger_.finding() && !ledger_.all_ended()) {
    // An executor met a message that does not fit. The calls that explain it are under way.
    await_words_on_wire(lock, stop);
    if (!stop.stop_requested() && !ledger_.finding()) ledger_.report_finding(wire_processes_, wire_ns_);
  }
  if (stop.stop_requested()) return;
  if (!ledger_.finding()) {  // the run is over; an error that nobody waited for is still a diagnosis
    std::vector<Diagnosis> diagnoses = judge(ledger_.evidence(comm::now_ns()));
    for (Diagnosis& diagnosis : diagnoses) diagnosis.evidence_ns = last_end_ns_;
    if (!diagnoses.empty()) {
      found_ = true;
      final_evidence_ = ledger_.evidence(comm::now_ns());
      verdict_ = make_verdict(std::move(diagnoses));
      // Who raised may live on, having caught its error, and wait for an answer.
      for (int p = 0; p < ledger_.num_processes(); ++p)
        if (sides_[p].listener && !ledger_.has_left(p)) sides_[p].listener->verdict(verdict_);
      changed_.notify_all();
      lock.unlock();
      if (options_.on_verdict) options_.on_verdict(verdict_);
      return;
    }
    // All have ended; a process may still die with a code after it has left. Who raised what all did, and lives on, may leave.
    examined_ = true;
    for (Side& side : sides_)
      if (side.listener) side.listener->left();
    changed_.notify_all();
    changed_.wait(lock, stop, [&] { return ledger_.finding().has_value(); });
    if (stop.stop_requested()) return;
  }
  found_ = true;
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    sides_[p].told_recent = false;
    sides_[p].issued_at_finding = ledger_.issued_of(p);
    if (sides_[p].listener) sides_[p].listener->poison();
  }
  hear_those_at_hand();
  if (options_.on_finding) {
    lock.unlock();
    options_.on_finding();
    lock.lock();
  }
  // The clock alone ends the look-ahead of those that say nothing: it is asked now and then.
  const comm::Ns found_ns = comm::now_ns();
  const auto first = std::min(options_.look_ahead, options_.silent);
  while (!stop.stop_requested() && !changed_.wait_for(lock, stop, first, [&] { return look_ahead_over(found_ns); })) hear_those_at_hand();
  if (stop.stop_requested()) return;
  hear_those_at_hand();
  Evidence evidence = evidence_now();
  std::vector<Diagnosis> diagnoses = judge(evidence);
  if (diagnoses.empty()) diagnoses.push_back(unexplained(evidence));
  for (Diagnosis& diagnosis : diagnoses) {
    diagnosis.evidence_ns = evidence.complete_ns;
    diagnosis.detected_ns = evidence.now_ns;
  }
  final_evidence_ = std::move(evidence);
  verdict_ = make_verdict(std::move(diagnoses));
  for (Side& side : sides_)
    if (side.listener) side.listener->verdict(verdict_);
  changed_.notify_all();
  lock.unlock();
  if (options_.on_verdict) options_.on_verdict(verdict_);
}

// Messages that do not fit although all launches do: a fault of the links or of this program, which must end the run all the same.
Diagnosis Referee::unexplained(const Evidence& evidence) const {
  // What one sent and the other never received lies before what it does receive.
  Positions positions(evidence);
  for (int p : wire_processes_)
    for (const CallEvidence& call : positions.at(p).calls) {
      const ProgramEvidence* sent = call.sent ? evidence.program(call) : nullptr;
      if (!sent || std::find(wire_processes_.begin(), wire_processes_.end(), sent->to) == wire_processes_.end()) continue;
      Diagnosis diagnosis = diagnosis_of(positions, MessageFault{MessageFault::Kind::kNoReceive, p, sent->to, &call, nullptr});
      diagnosis.code = kMissingParticipant.code;
      diagnosis.severity = kMissingParticipant.severity;
      diagnosis.explain = kMissingParticipant.explain;
      return diagnosis;
    }
  Diagnosis diagnosis{
      .code = "program-mismatch", .severity = "error", .processes = ledger_.finding()->processes, .tie = true, .fields = {"code"}};
  diagnosis.message = wire_ ? *wire_ : std::string("the processes cannot go on, though their launches agree");
  diagnosis.explain = "The launches that the processes issued agree, but a message between them did not belong where it arrived.";
  for (int p : diagnosis.processes) diagnosis.participants.push_back({.process = p});
  return diagnosis;
}

}  // namespace shardlab::control
