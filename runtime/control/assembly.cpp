#include "runtime/control/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardlab::control {

Assembly::Assembly(int num_processes, std::function<void(const Gathered&, const std::vector<Ended>&)> begin)
    : begin_(std::move(begin)), processes_(std::size_t(num_processes)) {}

Assembly::Entry Assembly::enter(const Member& member) {
  std::lock_guard lock(mutex_);
  Entry entry;
  if (auto why_not = why_no_member(member, int(processes_.size()))) {
    entry.refused = *why_not;
    return entry;
  }
  Process& process = processes_[std::size_t(member.process)];
  if (process.member && process.member->devices != member.devices) {
    entry.refused = fmt::format(
        "Different local topology for node {} has been set previously: it had {} devices and comes again with {}; start it as before",
        member.process, process.member->devices, member.devices);
    return entry;
  }
  entry.again = process.member.has_value();
  if (process.alive) {
    entry.replaced = member.process;
    process.ended = {};
    end(member.process);
  }
  process = Process{.member = member, .incarnation = member.incarnation, .alive = true, .in_epoch = !entry.again};
  if (entry.again)
    for (const Process& each : processes_)
      if (each.member) entry.members.push_back(*each.member);
  if (entry.again && entry.members.size() != processes_.size())
    entry.refused = fmt::format("process {} comes again before all processes of the job have come once", member.process);
  return entry;
}

void Assembly::gather(int process, std::uint64_t incarnation, bool closing, bool renew, Answer answer) {
  std::lock_guard lock(mutex_);
  Process& comer = processes_.at(std::size_t(process));
  if (!comer.alive || comer.incarnation != incarnation) return;
  comer.waiting = true;
  comer.closing = closing;
  comer.answer = std::move(answer);
  broken_ = broken_ || (renew && comer.in_epoch);
  settle();
}

void Assembly::left(int process, std::uint64_t incarnation) {
  std::lock_guard lock(mutex_);
  Process& goer = processes_.at(std::size_t(process));
  if (!goer.alive || goer.incarnation != incarnation) return;
  goer.ended = {.left = true};
  end(process);
}

void Assembly::died(int process, Ended how) {
  std::lock_guard lock(mutex_);
  Process& dead = processes_.at(std::size_t(process));
  if (dead.alive || !dead.ended.left) dead.ended = how;
  if (dead.alive) end(process);
}

bool Assembly::vanished(int process, std::uint64_t incarnation, Ended how) {
  std::lock_guard lock(mutex_);
  Process& gone = processes_.at(std::size_t(process));
  if (!gone.alive || gone.incarnation != incarnation) return false;
  gone.ended = how;
  end(process);
  return true;
}

bool Assembly::is_current(int process, std::uint64_t incarnation) const {
  std::lock_guard lock(mutex_);
  if (process < 0 || process >= int(processes_.size())) return false;
  const Process& asked = processes_[std::size_t(process)];
  return asked.alive && asked.incarnation == incarnation;
}

bool Assembly::is_alive(int process) const {
  std::lock_guard lock(mutex_);
  return processes_.at(std::size_t(process)).alive;
}

void Assembly::silenced(int process, std::uint64_t incarnation) {
  std::lock_guard lock(mutex_);
  Process& silent = processes_.at(std::size_t(process));
  if (silent.incarnation != incarnation) return;
  silent.waiting = false;
  silent.answer = nullptr;
}

bool Assembly::wait_deserted(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] {
    return living().empty() && std::any_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.member.has_value(); });
  });
}

std::optional<Ended> Assembly::ended(int process) const {
  std::lock_guard lock(mutex_);
  const Process& asked = processes_.at(std::size_t(process));
  return asked.alive || !asked.member ? std::nullopt : std::optional(asked.ended);
}

void Assembly::end(int process) {
  Process& ending = processes_[std::size_t(process)];
  ending.alive = ending.waiting = false;
  ending.answer = nullptr;
  broken_ = broken_ || ending.in_epoch;
  changed_.notify_all();
  settle();
}

std::vector<int> Assembly::living() const {
  std::vector<int> living;
  for (std::size_t p = 0; p < processes_.size(); ++p)
    if (processes_[p].alive) living.push_back(int(p));
  return living;
}

void Assembly::answer(Process& process, const Gathered& gathered) {
  process.waiting = false;
  std::exchange(process.answer, nullptr)(gathered);
}

void Assembly::settle() {
  bool all_here = true, all_close = true;
  for (const Process& process : processes_) {
    if (!process.alive || !process.in_epoch) continue;
    all_here = all_here && process.waiting;
    all_close = all_close && process.waiting && process.closing;
  }
  auto closes = [](const Process& p) { return p.waiting && p.closing; };
  if (std::any_of(processes_.begin(), processes_.end(), closes)) {
    // Whoever opens another has not closed this one.
    broken_ = broken_ ||
              std::any_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.in_epoch && p.waiting && !p.closing; });
    if (!all_close && !broken_) return;
    Gathered closed{epoch_, {}, !broken_};
    for (std::size_t p = 0; p < processes_.size(); ++p)
      if (processes_[p].alive && processes_[p].in_epoch) closed.live.push_back(int(p));
    for (Process& process : processes_)
      if (closes(process)) answer(process, closed);
    return;
  }
  std::vector<int> live = living();
  bool all_open = !live.empty() && std::all_of(live.begin(), live.end(), [&](int p) { return processes_[std::size_t(p)].waiting; });
  if (!all_here || !all_open) return;
  bool anyone_new = std::any_of(live.begin(), live.end(), [&](int p) { return !processes_[std::size_t(p)].in_epoch; });
  if (broken_ || anyone_new) {
    ++epoch_;
    broken_ = false;
    for (Process& process : processes_) process.in_epoch = process.alive;
    std::vector<Ended> ended;
    for (const Process& process : processes_) ended.push_back(process.ended);
    begin_({epoch_, live, true}, ended);
  }
  Gathered opened{epoch_, live, true};
  for (int p : live) answer(processes_[std::size_t(p)], opened);
}

}  // namespace shardlab::control
