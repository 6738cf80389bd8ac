#include "runtime/control/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/number_list.h"
#include "runtime/base/text.h"

namespace shardlab::control {
namespace {

std::uint64_t mix(std::uint64_t history, std::uint64_t fingerprint, std::uint64_t group) {
  std::uint64_t words[2] = {fingerprint, group};
  return hash_bytes({reinterpret_cast<const char*>(words), sizeof words}, history);
}

std::string type_text(const std::string& dtype, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", dtype, fmt::join(shape, ","));
}

std::vector<std::string> value_texts(const std::vector<comm::ValueInfo>& values) {
  std::vector<std::string> texts;
  for (const comm::ValueInfo& value : values)
    texts.push_back(value.sharding.empty() ? type_text(value.dtype, value.shape)
                                           : fmt::format("{} {}", type_text(value.dtype, value.shape), value.sharding));
  return texts;
}

std::string pairs_text(const std::vector<std::pair<comm::Ordinal, comm::Ordinal>>& pairs) {
  std::vector<std::string> texts;
  for (auto [from, to] : pairs) texts.push_back(fmt::format("[{},{}]", from, to));
  return fmt::format("[{}]", fmt::join(texts, ","));
}

}  // namespace

std::uint64_t device_group(const std::vector<comm::Ordinal>& devices) {
  return hash_bytes({reinterpret_cast<const char*>(devices.data()), devices.size() * sizeof(comm::Ordinal)});
}

std::uint64_t group_of(const comm::ProgramInfo& program) {
  return device_group(program.devices) + (program.channel && program.channel->receives ? 1 : 0);
}

ProgramEvidence program_evidence(const comm::ProgramInfo& program) {
  ProgramEvidence evidence{.fingerprint = program.fingerprint,
                           .group = group_of(program),
                           .name = program.name,
                           .text = program.text,
                           .mesh = program.mesh,
                           .devices = program.devices,
                           .processes = program.processes,
                           .operands = value_texts(program.operands),
                           .results = value_texts(program.results)};
  if (program.channel) {
    evidence.channel = fmt::format("{} to {}, tag {}", program.channel->from, program.channel->to, program.channel->tag);
    evidence.message = program.channel->type;
    evidence.receives = program.channel->receives;
    evidence.buffered = program.channel->buffered;
    evidence.from = program.channel->from;
    evidence.to = program.channel->to;
  }
  for (const comm::CollectiveInfo& collective : program.collectives) {
    evidence.collectives.push_back(
        {.kind = collective.kind,
         .dtype = collective.dtype,
         .shape = fmt::format("({}{})", fmt::join(collective.shape, ", "), collective.shape.size() == 1 ? "," : ""),
         .reduction = collective.reduction,
         .op = collective.op,
         .groups = lists_text(collective.groups),
         .pairs = pairs_text(collective.pairs),
         .bytes = collective.bytes,
         .where = collective.where.text()});
  }
  return evidence;
}

CallEvidence call_evidence(const comm::Launch& launch) {
  return {.launch = launch.number,
          .seq = launch.seq,
          .fingerprint = launch.program->fingerprint,
          .group = group_of(*launch.program),
          .op = launch.program->name,
          .where = launch.where.text(),
          .statement = launch.where.statement,
          .issued_ns = launch.issued_ns,
          .matched = false,
          .value_hash = launch.value ? launch.value->hash : 0,
          .value_head = launch.value ? launch.value->head : std::vector<std::string>()};
}

std::uint64_t local_fingerprint(const comm::ProgramInfo& program) {
  std::string text = program.name;
  if (program.text.find('\n') != std::string::npos) {
    for (std::string_view line : split(program.text, '\n')) {
      bool names_devices = line.find("devices") != line.npos || line.find("esh") != line.npos;
      if (!names_devices) text += fmt::format("\n{}", line);
    }
  } else {
    for (const auto& values : {program.operands, program.results})
      for (const comm::ValueInfo& value : values) text += "\n" + type_text(value.dtype, value.shape);
  }
  return hash_bytes(text);
}

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
    if (other.evidence.state == ProcessState::kExited)
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

void Ledger::recent(int process, std::vector<StepEvidence> steps, const std::string& at_line, std::int32_t statement) {
  ProcessEvidence& evidence = at(process).evidence;
  evidence.unused.clear();
  evidence.waited.clear();
  std::erase_if(steps, [&](StepEvidence& step) {
    if (step.kind == StepEvidence::Kind::kUnused)
      evidence.unused.push_back(std::move(step));
    else if (step.kind == StepEvidence::Kind::kWaited)
      evidence.waited.push_back(std::move(step));
    else
      return false;
    return true;
  });
  evidence.steps = std::move(steps);
  evidence.at = at_line;
  evidence.at_statement = statement;
}

void Ledger::stuck(int process) { at(process).evidence.state = ProcessState::kSilent; }
void Ledger::stopped(int process) { at(process).evidence.state = ProcessState::kStopped; }

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

// Who came last kept all others waiting since the last of them came.
void Ledger::note_lateness(const std::vector<int>& members) {
  if (members.size() < 2) return;
  int last = members[0];
  for (int p : members)
    if (at(p).head_since_ns > at(last).head_since_ns) last = p;
  std::int64_t others_ns = 0;
  for (int p : members)
    if (p != last) others_ns = std::max(others_ns, at(p).head_since_ns);
  std::int64_t late_ns = at(last).head_since_ns - others_ns;
  if (late_ns < kLatenessToldNs) return;
  LatenessEvidence& late = at(last).evidence.late;
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

void Ledger::seek_unreceived(int gone) {
  if (finding_) return;
  for (const auto& [name, channel] : channels_)
    if (channel.to == gone && !channel.sent.empty())
      return find(Finding::Kind::kGone, {channel.from, gone}, std::max(channel.sent.front().issued_ns, at(gone).ended_ns));
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

void Ledger::seek_contradiction(int process) {
  const Program* mine = head(process)->program;
  if (standing_.size() < 2) return;
  for (const auto& [key, other] : standing_) {
    if (other == mine || !other->includes[process]) continue;
    for (int q : other->at_head)
      if (mine->includes[q])
        return find(Finding::Kind::kContradiction, {process, q}, std::max(at(process).head_since_ns, at(q).head_since_ns));
  }
}

void Ledger::seek_gone(int process) {
  if (gone_ == 0) return;
  for (int q : head(process)->program->evidence.processes)
    if (at(q).ended && at(q).queue.empty())
      return find(Finding::Kind::kGone, {process, q}, std::max(at(process).head_since_ns, std::max(at(q).ended_ns, at(q).head_since_ns)));
}

void Ledger::seek_needed(int gone) {
  if (finding_) return;
  seek_unreceived(gone);
  for (const auto& [key, program] : standing_)
    if (program->includes[gone])
      for (int p : program->at_head)
        return find(Finding::Kind::kGone, {p, gone}, std::max({at(p).head_since_ns, at(gone).ended_ns, at(gone).head_since_ns}));
}

// Depth first along "needs one that stands elsewhere", from the process whose head is new: an older circle was found before.
void Ledger::seek_cycle(int process) {
  if (finding_ || standing_.size() < 2) return;
  std::vector<int> came_from(processes_.size(), -1);
  std::vector<int> open{process};
  while (!open.empty()) {
    int p = open.back();
    open.pop_back();
    const OpenCall* mine = head(p);
    for (int q : mine->program->evidence.processes) {
      const OpenCall* other = head(q);
      if (!other || other->program == mine->program) continue;
      if (q == process) {
        std::vector<int> circle;
        std::int64_t complete_ns = 0;
        for (int member = p; member != -1; member = member == process ? -1 : came_from[member]) {
          circle.push_back(member);
          complete_ns = std::max(complete_ns, at(member).head_since_ns);
        }
        std::reverse(circle.begin(), circle.end());
        return find(Finding::Kind::kCycle, std::move(circle), complete_ns);
      }
      if (came_from[q] >= 0) continue;
      came_from[q] = p;
      open.push_back(q);
    }
  }
}

void Ledger::find(Finding::Kind kind, std::vector<int> processes, std::int64_t complete_ns) {
  // A death is stronger than what was found before: it comes with a time of its own.
  bool stronger = finding_ && kind == Finding::Kind::kDeath && finding_->kind != Finding::Kind::kDeath;
  if (finding_ && !stronger) return;
  finding_ = Finding{kind, complete_ns, std::move(processes)};
  if (!stronger) issued_at_finding_ = issued_total_;
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
