// How the ledger matches calls: equal ones that all participants stand at, and the two ends of a message.
#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/control/ledger.h"

namespace shardlab::control {
namespace {

std::uint64_t mix(std::uint64_t history, std::uint64_t fingerprint, std::uint64_t group) {
  std::uint64_t words[2] = {fingerprint, group};
  return hash_bytes({reinterpret_cast<const char*>(words), sizeof words}, history);
}

}  // namespace

// A new head may complete a match, which gives others new heads; each is then held against all the others.
void Ledger::head_changed(int process) {
  std::vector<int> changed{process};
  while (!changed.empty()) {
    int p = changed.back();
    changed.pop_back();
    Process& current = at(p);
    if (current.queue.empty()) {
      if (current.leaving && !current.ended)
        end(p, ProcessState::kLeft, current.head_since_ns);
      else if (current.ended) {
        ++gone_;
        seek_needed(p);
      }
      continue;
    }
    Program& program = *current.queue.front().program;
    if (std::find(program.at_head.begin(), program.at_head.end(), p) == program.at_head.end()) {
      program.at_head.push_back(p);
      standing_[{program.evidence.fingerprint, program.evidence.group}] = &program;
    }
    if (program.evidence.channel.empty() ? try_match(program, changed) : try_message(p, changed)) continue;
    if (finding_) continue;
    seek_contradiction(p);
    seek_gone(p);
    seek_cycle(p);
  }
}

bool Ledger::try_match(Program& program, std::vector<int>& changed) {
  if (program.at_head.size() != program.evidence.processes.size()) return false;
  // Equal calls on unequal values: nothing that follows from them may leave.
  if (values_differ(program)) {
    std::int64_t complete_ns = 0;
    for (int q : program.at_head) complete_ns = std::max(complete_ns, at(q).head_since_ns);
    find(Finding::Kind::kValues, program.at_head, complete_ns);
    return true;
  }
  std::vector<int> members = std::move(program.at_head);
  program.at_head.clear();
  standing_.erase({program.evidence.fingerprint, program.evidence.group});
  std::int64_t time_ns = 0;
  for (int p : members) time_ns = std::max(time_ns, at(p).head_since_ns);
  note_lateness(members);
  for (int p : members) pop(p, time_ns);
  std::sort(members.begin(), members.end(), std::greater<>());
  changed.insert(changed.end(), members.begin(), members.end());
  return true;
}

// Who came last kept all others waiting since the last of them came. What it planned longer than that one is a first call's, and no
// lateness.
void Ledger::note_lateness(const std::vector<int>& members) {
  if (members.size() < 2) return;
  int last = members[0];
  for (int p : members)
    if (at(p).head_since_ns > at(last).head_since_ns) last = p;
  int before = -1;
  for (int p : members)
    if (p != last && (before < 0 || at(p).head_since_ns > at(before).head_since_ns)) before = p;
  std::int64_t late_ns = at(last).head_since_ns - at(before).head_since_ns;
  if (late_ns < kLatenessToldNs) return;
  LatenessEvidence& late = at(last).evidence.late;
  const std::int64_t planned_ns = std::clamp<std::int64_t>(head(last)->call.planned_ns - head(before)->call.planned_ns, 0, late_ns);
  late.planned_ns += planned_ns;
  late_ns -= planned_ns;
  if (late_ns < kLatenessToldNs) return;
  ++late.calls;
  late.ns += late_ns;
  if (late_ns <= late.longest_ns) return;
  const CallEvidence& call = head(last)->call;
  late.longest_ns = late_ns;
  late.op = call.op;
  late.where = call.where;
  late.statement = call.statement;
  late.waiting = members;
  std::erase(late.waiting, last);
  std::sort(late.waiting.begin(), late.waiting.end());
}

bool Ledger::values_differ(const Program& program) const {
  std::uint64_t value = 0;
  for (int p : program.at_head) {
    std::uint64_t mine = head(p)->call.value_hash;
    if (value == 0) value = mine;
    if (mine != 0 && mine != value) return true;
  }
  return false;
}

bool Ledger::try_message(int process, std::vector<int>& changed) {
  const ProgramEvidence& mine = head(process)->program->evidence;
  if (mine.receives ? take_sent(process, changed) : mine.buffered && pass_send(process, changed)) return true;
  int other = mine.processes.front() == process ? mine.processes.back() : mine.processes.front();
  const OpenCall* end = head(other);
  if (!end || end->program->evidence.channel != mine.channel || end->program->evidence.receives == mine.receives) return false;
  if (end->program->evidence.message != mine.message) {
    find(Finding::Kind::kContradiction, {process, other}, std::max(at(process).head_since_ns, at(other).head_since_ns));
    return true;
  }
  std::int64_t time_ns = std::max(at(process).head_since_ns, at(other).head_since_ns);
  note_lateness({process, other});
  for (int p : {process, other}) {
    leave_head(p);
    pop(p, time_ns);
    changed.push_back(p);
  }
  return true;
}

// The receiver takes what lies in the channel, or what its sender stands at.
bool Ledger::take_sent(int process, std::vector<int>& changed) {
  const ProgramEvidence& mine = head(process)->program->evidence;
  Channel& channel = channels_[mine.channel];
  if (channel.sent.empty()) return false;
  const CallEvidence& sent = channel.sent.front();
  const ProgramEvidence& sender = programs_.at({sent.fingerprint, sent.group})->evidence;
  if (sender.message != mine.message) {
    find(Finding::Kind::kContradiction, {channel.from, process}, std::max(at(process).head_since_ns, sent.issued_ns));
    return true;
  }
  std::int64_t time_ns = std::max(at(process).head_since_ns, sent.issued_ns);
  channel.sent.pop_front();
  leave_head(process);
  pop(process, time_ns);
  changed.push_back(process);
  return true;
}

bool Ledger::pass_send(int process, std::vector<int>& changed) {
  const ProgramEvidence& mine = head(process)->program->evidence;
  int to = mine.to;
  Channel& channel = channels_[mine.channel];
  channel.from = process;
  channel.to = to;
  channel.sent.push_back(head(process)->call);
  channel.sent.back().sent = true;
  leave_head(process);
  pop(process, at(process).head_since_ns);
  changed.push_back(process);
  const OpenCall* other = head(to);
  if (other && other->program->evidence.channel == mine.channel) changed.push_back(to);
  if (at(to).ended && at(to).queue.empty()) seek_unreceived(to);
  return true;
}

void Ledger::leave_head(int process) {
  Program& program = *head(process)->program;
  std::erase(program.at_head, process);
  if (program.at_head.empty()) standing_.erase({program.evidence.fingerprint, program.evidence.group});
}

void Ledger::progress(int process) {
  if (has_progressed_[std::size_t(process)]) return;
  has_progressed_[std::size_t(process)] = true;
  progressed_.push_back(process);
}

void Ledger::pop(int process, std::int64_t time_ns) {
  Process& current = at(process);
  CallEvidence call = std::move(current.queue.front().call);
  current.queue.pop_front();
  call.matched = true;
  ++current.evidence.matched;
  current.evidence.history = mix(current.evidence.history, call.fingerprint, call.group);
  current.matched.push_back(std::move(call));
  if (current.matched.size() > kMatchedKept) current.matched.pop_front();
  current.head_since_ns = current.queue.empty() ? time_ns : std::max(time_ns, current.queue.front().call.issued_ns);
  current.matched_ns = time_ns;
  progress(process);
}

}  // namespace shardlab::control
