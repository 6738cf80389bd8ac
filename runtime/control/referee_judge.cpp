// The judge's own thread: finds what nobody reports, gives the processes time to look ahead, and speaks the verdict.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/referee.h"
#include "traces/checks/check_def.h"
#include "traces/checks/definitions.h"
#include "traces/checks/messages.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab::control {
namespace {

constexpr std::chrono::milliseconds kLap{250}, kRaisedGrace{300};
constexpr int kTimesForChoices = 20;  // of the look-ahead, for who has not come to a loop that others part ways in

}  // namespace

bool Referee::settled(int process) const {
  const Side& side = sides_[process];
  if (ledger_.issues_no_more(process) || !awaited_by_[std::size_t(process)].empty()) return true;
  if (side.listener && !side.told_recent) return false;
  if (ledger_.issued_of(process) - side.issued_at_finding >= options_.look_ahead_calls) return true;
  if (!side.reading) return false;
  std::int64_t open = ledger_.first_open(process);
  return side.reading->poisoned || (open >= 0 && open <= side.reading->launch);
}

// Silence is no proof, but after so long it is told: somebody waits for a process that is alive, in no call, computes nothing and says
// nothing; or for one whose heartbeat is missing, whatever it has issued.
void Referee::seek_stuck() {
  comm::Ns now = comm::now_ns(), limit = std::chrono::nanoseconds(options_.stuck).count();
  // Who was stopped itself has heard nobody meanwhile.
  if (sought_ns_ != 0 && now - sought_ns_ > limit) awake_ns_ = now;
  sought_ns_ = now;
  std::vector<int> stuck;
  for (int p : ledger_.awaited()) {
    const Side& side = sides_[std::size_t(p)];
    comm::Ns quiet_since = std::max({side.heard_ns, side.worked_ns, ledger_.awaited_since(p), awake_ns_});
    if (now - quiet_since >= limit) stuck.push_back(p);
  }
  bool any_stopped = false;
  for (int p : stuck) ledger_.stuck(p);
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    const Side& side = sides_[std::size_t(p)];
    if (side.alive_ns == 0 || ledger_.ended(p) || now - std::max(side.alive_ns, awake_ns_) < limit) continue;
    if (!ledger_.others_blocked(p, now - limit)) continue;
    ledger_.stopped(p);
    any_stopped = true;
    if (std::find(stuck.begin(), stuck.end(), p) == stuck.end()) stuck.push_back(p);
  }
  if (stuck.empty()) return;
  std::sort(stuck.begin(), stuck.end());
  if (any_stopped)
    ledger_.report_silent(stuck, now);
  else
    ledger_.report_finding(stuck, now);
}

// Where all launches are matched, nobody but those who wait for its data needs a process that raised: it may have failed in a launch that
// they are in. Found once they all wait, and nothing has moved for a while.
void Referee::seek_raised() {
  std::vector<int> guilty = raised();
  comm::Ns moved_ns = last_end_ns_;
  bool anyone = false;
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    if (ledger_.ended(p)) continue;
    const Side& side = sides_[std::size_t(p)];
    if (!side.waiting && !side.reading) return;
    anyone = true;
    moved_ns = std::max(moved_ns, side.heard_ns);
  }
  if (guilty.empty() || !anyone || comm::now_ns() - moved_ns < std::chrono::nanoseconds(kRaisedGrace).count()) return;
  ledger_.report_finding(std::move(guilty), moved_ns);
}

// Its launch runs, and does not wait for others: its word on the loop or branch in dispute will come.
bool Referee::works_on(int process) const {
  const Side& side = sides_[std::size_t(process)];
  if (side.waiting || !side.listener || ledger_.state_of(process) == ProcessState::kRaised) return false;
  if (!side.listener->tells_when_it_looked_ahead()) return true;
  return side.worked_ns != 0 && comm::now_ns() - std::max(side.worked_ns, awake_ns_) < std::chrono::nanoseconds(options_.silent).count();
}

bool Referee::looks_ahead_no_more(int process, comm::Ns found_ns, bool lacks_choice) const {
  const Side& side = sides_[std::size_t(process)];
  comm::Ns now = comm::now_ns();
  auto ns = [](std::chrono::milliseconds limit) { return std::chrono::nanoseconds(limit).count(); };
  if (now - found_ns >= ns(options_.stuck)) return true;
  if (!side.listener || !side.listener->tells_when_it_looked_ahead())
    return now - found_ns >= ns(options_.look_ahead) * (lacks_choice ? kTimesForChoices : 1) && !(lacks_choice && works_on(process));
  // Who has just joined has given no sign yet.
  comm::Ns last_sign = side.alive_ns != 0 ? side.alive_ns : found_ns;
  if (now - std::max(last_sign, awake_ns_) >= ns(options_.silent)) return true;
  if (lacks_choice && works_on(process)) return false;
  // Others wait for a word of it: whom the majority blames may hang on that.
  std::vector<int> awaited = ledger_.awaited();
  bool is_awaited = std::find(awaited.begin(), awaited.end(), process) != awaited.end();
  return side.looked_ahead >= (is_awaited || lacks_choice ? 2 : 1) && side.told_recent;
}

// Where loops part ways, who issues nothing more, or reads, may still be in its launch.
bool Referee::look_ahead_over(comm::Ns found_ns) const {
  if (ledger_.finding()->kind == Finding::Kind::kDeath) return true;
  const auto [others_part_ways, choosing] = ledger_.yet_to_choose();
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    const bool lacks_choice = std::binary_search(choosing.begin(), choosing.end(), p);
    const bool is_in_launch =
        lacks_choice && others_part_ways && sides_[std::size_t(p)].listener && ledger_.state_of(p) != ProcessState::kRaised;
    if ((is_in_launch || !settled(p)) && !looks_ahead_no_more(p, found_ns, lacks_choice)) return false;
  }
  return true;
}

// Words come in order: after two more signs of life of both sides, all that they issued before the message is known.
bool Referee::wire_words_in() const {
  return std::all_of(wire_processes_.begin(), wire_processes_.end(), [&](int p) { return sides_[std::size_t(p)].signs >= 2; });
}

void Referee::await_words_on_wire(std::unique_lock<std::mutex>& lock, std::stop_token stop) {
  auto explained = [&] {
    return ledger_.finding() || ledger_.all_ended() || ledger_.differ_ahead(wire_processes_.front(), wire_processes_.back());
  };
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

// Nothing is to be said. Who raised what all did, and lives on, may leave.
void Referee::tell_all_left() {
  for (Side& side : sides_)
    if (side.listener) side.listener->left();
  changed_.notify_all();
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
    // All have ended; a process may still die with a code after it has left.
    examined_ = true;
    tell_all_left();
    changed_.wait(lock, stop, [&] { return ledger_.finding().has_value(); });
    if (stop.stop_requested()) return;
  }
  found_ = true;
  for (int p = 0; p < ledger_.num_processes(); ++p) {
    sides_[p].told_recent = false;
    sides_[p].issued_at_finding = ledger_.issued_of(p);
    if (sides_[p].listener) sides_[p].listener->poison(!raised().empty());
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
  if (diagnoses.empty() && Positions(evidence).all_raised_alike()) {
    closed_ = true;
    tell_all_left();
    return;
  }
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
  if (wire_) {
    std::vector<Diagnosis> between = judge_between(evidence, wire_processes_);
    if (!between.empty()) return between.front();
  }
  Diagnosis diagnosis{
      .code = "program-mismatch", .severity = "error", .processes = ledger_.finding()->processes, .tie = true, .fields = {"code"}};
  diagnosis.message = wire_ ? *wire_ : std::string("the processes cannot go on, though their launches agree");
  diagnosis.explain = "The launches that the processes issued agree, but a message between them did not belong where it arrived.";
  for (int p : diagnosis.processes) diagnosis.participants.push_back({.process = p});
  return diagnosis;
}

}  // namespace shardlab::control
