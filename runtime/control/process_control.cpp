#include "runtime/control/process_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "runtime/base/planning_time.h"
#include "runtime/base/text.h"
#include "runtime/control/own_time.h"
#include "traces/checks/choices.h"

namespace shardlab::control {
namespace {

constexpr comm::Ns kWaitToldNs = 10'000'000;  // for one peer, in all
constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();

std::string place(Where where) { return where.known() ? where.text() : std::string(); }

}  // namespace

ProcessControl::ProcessControl(int process_index, std::function<void(const std::string&)> on_stop, std::chrono::milliseconds shutdown_limit)
    : process_index_(process_index), shutdown_limit_(shutdown_limit), on_stop_(std::move(on_stop)) {}

void ProcessControl::issued(const comm::Launch& launch) {
  rest();
  const comm::ProgramInfo& program = *launch.program;
  const std::vector<comm::ProcessIndex>& owners = program.processes;
  if (!program.spans_processes() || !std::binary_search(owners.begin(), owners.end(), process_index_)) return;
  CallEvidence call = call_evidence(launch);
  bool waited = gate_.admit(launch.number, [&](bool for_good) {
    tell_waiting({kEverything, for_good, "issue", place(launch.where), launch.where.statement});
  });
  if (waited) uplink().running();
  {
    std::lock_guard lock(steps_mutex_);
    ++calls_;
    const std::int64_t planned_ns = PlanningTime::total_ns();
    call.planned_ns = planned_ns - std::exchange(planned_before_ns_, planned_ns);
    callers_.issued(launch.number, launch.where, __builtin_frame_address(0));
    come_to(launch.where);
  }
  if (declared_.insert({call.fingerprint, call.group}).second) uplink().declare(program_evidence(program));
  uplink().issued(std::move(call));
}

void ProcessControl::await_agreement(std::int64_t launch, std::string_view what, Where where) {
  if (launch < 0) return;
  rest();
  // What is read because the program is over is no step of it.
  if (what != "exit") keep({StepEvidence::Kind::kRead, nullptr, std::string(what), "", where, 0});
  bool waited = gate_.pass(launch, [&](bool for_good) {
    tell_waiting({launch, for_good, std::string(what), place(where), where.statement});
  });
  rest();
  if (waited) uplink().running();
}

// After a poison, with what it did since: the verdict looks at that too.
void ProcessControl::tell_waiting(Reading reading) {
  if (gate_.poisoned()) uplink().recent(recent());
  uplink().reading(std::move(reading));
}

void ProcessControl::await_verdict(std::string_view what, Where where) {
  gate_.pass_verdict([&](bool for_good) { tell_waiting({kEverything, for_good, std::string(what), place(where), where.statement}); });
}

void ProcessControl::wire_mismatch(const comm::Launch& launch, int call, const comm::WireMismatch& mismatch) {
  bool same_call = mismatch.got.agrees(mismatch.expected);
  uplink().wire_mismatch(
      mismatch.from,
      fmt::format("a message of {} in {}{}, call {}: expected launch {} of program {:016x}, {} bytes; got launch {} of program "
                  "{:016x}, call {}, {} bytes",
                  same_call ? "another length" : "another call", launch.program->name,
                  launch.where.known() ? " at " + launch.where.text() : std::string(), call, mismatch.expected.seq,
                  mismatch.expected.fingerprint, mismatch.expected.bytes, mismatch.got.seq, mismatch.got.fingerprint, mismatch.got.call,
                  mismatch.got.bytes));
  gate_.halt();
}

void ProcessControl::note_waited(const comm::Launch& launch, const std::vector<comm::ProcessIndex>& peers) {
  std::lock_guard lock(steps_mutex_);
  comm::Ns now = comm::now_ns();
  for (comm::ProcessIndex peer : awaited_) {
    Waited& waited = waited_[peer];
    comm::Ns ns = now - awaited_since_ns_;
    waited.ns += ns;
    if (ns <= waited.longest_ns) continue;
    waited.longest_ns = ns;
    waited.op = launch.program->name;
    waited.where = launch.where;
  }
  awaited_ = peers;
  awaited_launch_ = launch.number;
  awaited_since_ns_ = now;
}

void ProcessControl::waiting(const comm::Launch& launch, int, const std::vector<comm::ProcessIndex>& peers) {
  note_waited(launch, peers);
  if (peers.empty()) return uplink().waiting("", "", -1);  // it waits no more
  uplink().waiting(launch.program->name, place(launch.where), launch.where.statement);
}

void ProcessControl::raised(std::string_view text, Where where) {
  if (gate_.current_verdict()) return;
  uplink().recent(recent());
  uplink().raised(std::string(text), place(where), where.statement);
  gate_.wait_acknowledged(kRaisedMs);
}

void ProcessControl::failed(const comm::Launch& launch, std::string_view text, Where where) {
  gate_.fail(launch.number);
  raised(text, where);
}

void ProcessControl::leave() {
  rest();
  uplink().recent(recent());
  uplink().leaving();
  if (!gate_.pass_leaving(shutdown_limit_))
    throw TransportError(fmt::format("Shutdown barrier has failed: process {} waited {} ms for the others to end too", process_index_,
                                     shutdown_limit_.count()));
}

void ProcessControl::keep(Step step) {
  std::lock_guard lock(steps_mutex_);
  step.after = calls_;
  if (step.where.known()) come_to(step.where);
  steps_.push_back(std::move(step));
  if (steps_.size() > kStepsRemembered) steps_.pop_front();
}

// From the executing thread, at each round of a loop: the last word on a run replaces those before, and the issuing thread is elsewhere.
void ProcessControl::keep_choice(Step step) {
  std::lock_guard lock(steps_mutex_);
  step.after = calls_;
  auto known = std::find_if(choices_.rbegin(), choices_.rend(), [&](const Step& each) { return each.what == step.what; });
  if (known != choices_.rend()) {
    *known = std::move(step);
    return;
  }
  choices_.push_back(std::move(step));
  if (choices_.size() > kChoicesRemembered) choices_.pop_front();
}

bool ProcessControl::waits_by_choice() const {
  std::lock_guard lock(steps_mutex_);
  return !choices_.empty() && has_waited_a_while();
}

bool ProcessControl::has_waited_a_while() const {
  constexpr comm::Ns kAWhile = 200'000'000;
  return !awaited_.empty() && comm::now_ns() - awaited_since_ns_ >= kAWhile;
}

void ProcessControl::local(const comm::Launch& launch) { keep({StepEvidence::Kind::kLocal, launch.program, "", "", launch.where, 0}); }

void ProcessControl::observed(std::string_view what, std::string_view value, Where where) {
  if (what.starts_with(kPredicate))
    return keep_choice({StepEvidence::Kind::kObserved, nullptr, std::string(what), std::string(value), where, 0});
  keep({StepEvidence::Kind::kObserved, nullptr, std::string(what), std::string(value), where, 0});
}

void ProcessControl::unused(std::string_view what, Where where, std::int64_t count) {
  std::lock_guard lock(steps_mutex_);
  unused_.push_back({.kind = StepEvidence::Kind::kUnused,
                     .what = std::string(what),
                     .where = place(where),
                     .statement = where.statement,
                     .value = std::to_string(count)});
}

void ProcessControl::at(Where where) {
  std::lock_guard lock(steps_mutex_);
  come_to(where);
}

void ProcessControl::come_to(Where where) {
  at_ = where;
  if (put_place_) put_place_(where);
}

Recent ProcessControl::recent() const {
  std::lock_guard lock(steps_mutex_);
  Recent result;
  result.at = place(at_);
  result.statement = at_.statement;
  std::vector<const Step*> steps;
  for (const Step& step : steps_) steps.push_back(&step);
  for (const Step& step : choices_) steps.push_back(&step);
  for (const Step* each : steps) {
    const Step& step = *each;
    StepEvidence evidence{.kind = step.kind,
                          .what = step.program ? step.program->name : step.what,
                          .where = place(step.where),
                          .statement = step.where.statement,
                          .value = step.value,
                          .after = step.after};
    evidence.fingerprint = step.program ? local_fingerprint(*step.program) : hash_bytes(step.value);
    result.steps.push_back(std::move(evidence));
  }
  result.steps.insert(result.steps.end(), unused_.begin(), unused_.end());
  for (const auto& [peer, waited] : waited_)
    if (waited.ns >= kWaitToldNs)
      result.steps.push_back({.kind = StepEvidence::Kind::kWaited,
                              .what = waited.op,
                              .where = place(waited.where),
                              .statement = waited.where.statement,
                              .value = std::to_string(waited.ns),
                              .after = peer});
  if (!gate_.poisoned()) return result;
  for (StepEvidence& step : callers_.told(gate_.first_open())) result.steps.push_back(std::move(step));
  return result;
}

// Data of what is matched comes, but what has not come for a while, in a launch in which somebody failed or may have gone another way.
bool ProcessControl::awaits_data_that_comes() const {
  std::lock_guard lock(steps_mutex_);
  if (awaited_.empty() || !gate_.is_matched(awaited_launch_)) return false;
  return !has_waited_a_while() || (choices_.empty() && !anyone_raised_);
}

void ProcessControl::look_ahead(std::stop_token stop) {
  constexpr std::chrono::milliseconds kLap{4};
  OwnTime time;
  std::chrono::nanoseconds had{0};
  for (std::chrono::nanoseconds limit : {kLookAhead, kComingUp}) {
    while (had < limit) {
      if (stop.stop_requested() || gate_.current_verdict()) return;
      std::this_thread::sleep_for(kLap);
      std::chrono::nanoseconds lap = time.lap();
      if (!awaits_data_that_comes()) had += lap;
    }
    uplink().recent(recent());
    uplink().looked_ahead();
  }
}

void ProcessControl::stop(const std::string& why) {
  if (!stopped_.exchange(true) && on_stop_) on_stop_(why);
}

// What is matched still runs; the transport is stopped with the verdict.
void ProcessControl::hear_poison(bool anyone_raised) {
  {
    std::lock_guard lock(steps_mutex_);
    anyone_raised_ = anyone_raised;
  }
  gate_.poison();
}

void ProcessControl::hear_verdict(VerdictRef verdict) {
  std::string text = verdict->text;
  gate_.verdict(std::move(verdict));
  stop(text);
}

void ProcessControl::hear_broken(const std::string& reason) {
  gate_.broken(reason);
  stop(reason);
}

}  // namespace shardlab::control
