#include "runtime/control/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/control/own_time.h"

namespace shardlab::control {
namespace {

constexpr std::chrono::milliseconds kDrainLap{5};

}  // namespace

Membership::Membership(MembershipOptions options)
    : options_(std::move(options)),
      processes_(std::size_t(options_.num_processes)),
      watcher_([this](std::stop_token stop) { watch(stop); }) {}

Membership::~Membership() = default;

std::optional<std::string> Membership::join(const Member& member, Attendant* attendant) {
  std::lock_guard lock(mutex_);
  if (auto why_not = refuse_locked(member)) return why_not;
  const std::vector<int>& wanted = options_.participants;
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), member.process) == wanted.end())
    return fmt::format("process {} is none of those that began this epoch", member.process);
  Process& process = processes_[std::size_t(member.process)];
  if (process.member) {
    const Member& before = *process.member;
    // Then another number is missing, and nobody has it.
    if (process.attending)
      disagree_locked(
          fmt::format("two processes have the number {} (process_id), pid {} on {} and pid {} on {}: each process needs one of "
                      "its own, from 0 to {}",
                      member.process, before.pid, before.host, member.pid, member.host, options_.num_processes - 1));
    return fmt::format("process {} has joined before, as pid {} on {}; each process needs a number (process_id) of its own", member.process,
                       before.pid, before.host);
  }
  process.member = member;
  process.attendant = attendant;
  process.attending = true;
  process.heard_ns = comm::now_ns();
  // Of a job that does not begin nobody hears that all are there.
  std::vector<Member> joined = members_locked();
  for (Process& other : processes_)
    if (other.attendant && disagreement_.empty()) other.attendant->roll(joined, expected());
  if (!disagreement_.empty()) attendant->disagreement(disagreement_);
  changed_.notify_all();
  return std::nullopt;
}

std::optional<std::string> Membership::refuse(const Member& member) {
  std::lock_guard lock(mutex_);
  return refuse_locked(member);
}

std::optional<std::string> Membership::refuse_locked(const Member& member) {
  std::optional<std::string> why_not = why_no_member(member, options_.num_processes, told_alike());
  if (why_not && is_told_otherwise(member, options_.num_processes)) disagree_locked(*why_not);
  return why_not;
}

void Membership::disagree_locked(const std::string& what) {
  const bool begun = !options_.participants.empty() || int(members_locked().size()) == expected();
  if (begun || !disagreement_.empty()) return;
  disagreement_ = what;
  for (Process& other : processes_)
    if (other.attendant) other.attendant->disagreement(disagreement_);
}

bool Membership::disagree() const {
  std::lock_guard lock(mutex_);
  return !disagreement_.empty();
}

std::string Membership::told_alike() const {
  for (const Process& process : processes_)
    if (process.member && process.member->num_processes == options_.num_processes)
      return fmt::format("process {} (pid {} on {})", process.member->process, process.member->pid, process.member->host);
  return "";
}

void Membership::heard(int process, comm::Ns now) {
  std::lock_guard lock(mutex_);
  processes_[std::size_t(process)].heard_ns = now;
}

void Membership::stream_ended(int process) {
  std::lock_guard lock(mutex_);
  processes_[std::size_t(process)].attending = false;
  processes_[std::size_t(process)].broken_ns = comm::now_ns();
  changed_.notify_all();
}

void Membership::forget(int process, const Attendant* attendant) {
  std::lock_guard lock(mutex_);
  if (processes_[std::size_t(process)].attendant == attendant) processes_[std::size_t(process)].attendant = nullptr;
}

void Membership::reported(int process, std::chrono::milliseconds drain) {
  std::unique_lock lock(mutex_);
  Process& dead = processes_.at(std::size_t(process));
  dead.reported = true;
  OwnTime time;
  std::chrono::nanoseconds had{0};
  while (had < drain && !changed_.wait_for(lock, kDrainLap, [&] { return !dead.attending; })) had += time.lap();
}

void Membership::stop_watching() { watcher_ = {}; }

std::vector<Member> Membership::members() const {
  std::lock_guard lock(mutex_);
  return members_locked();
}

std::vector<Member> Membership::members_locked() const {
  std::vector<Member> members;
  for (const Process& process : processes_)
    if (process.member) members.push_back(*process.member);
  return members;
}

std::vector<int> Membership::missing() const {
  std::lock_guard lock(mutex_);
  std::vector<int> missing;
  for (std::size_t p = 0; p < processes_.size(); ++p)
    if (!processes_[p].member) missing.push_back(int(p));
  return missing;
}

bool Membership::wait_joined(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return disagreement_.empty() && int(members_locked().size()) == expected(); });
}

bool Membership::wait_deserted(std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] {
    bool anyone = std::any_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.member; });
    return anyone && std::none_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.attending; });
  });
}

std::vector<SilentProcess> Membership::silent(std::chrono::milliseconds at_least, comm::Ns now) const {
  std::lock_guard lock(mutex_);
  std::vector<SilentProcess> silent;
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    double ms = double(now - processes_[p].heard_ns) / 1e6;
    if (processes_[p].attending && ms >= double(at_least.count())) silent.push_back({int(p), ms});
  }
  return silent;
}

bool Membership::attends(int process) const {
  std::lock_guard lock(mutex_);
  return processes_[std::size_t(process)].attending;
}

void Membership::tell_silence(int teller, const Member& silent, double silent_ms, const std::string& whereabouts) const {
  std::lock_guard lock(mutex_);
  if (Attendant* attendant = processes_[std::size_t(teller)].attendant) attendant->silence(silent, silent_ms, whereabouts);
}

void Membership::watch(std::stop_token stop) {
  const comm::Ns grace_ns = std::chrono::nanoseconds(options_.grace).count();
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    comm::Ns next_ns = -1;
    struct Gone {
      int process;
      comm::Ns time_ns;
      bool silent;
    };
    std::vector<Gone> gone;
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      Process& process = processes_[p];
      if (!process.missed()) continue;
      comm::Ns due_ns = process.broken_ns + grace_ns;
      if (due_ns <= comm::now_ns()) {
        process.gone = true;
        bool silent =
            options_.silence.count() > 0 && process.broken_ns - process.heard_ns >= std::chrono::nanoseconds(options_.silence).count();
        gone.push_back({int(p), process.broken_ns, silent});
      } else if (next_ns < 0 || due_ns < next_ns) {
        next_ns = due_ns;
      }
    }
    if (!gone.empty()) {
      lock.unlock();
      for (const Gone& each : gone) options_.on_gone(each.process, each.time_ns, each.silent);
      lock.lock();
      continue;
    }
    auto stirred = [&] {
      return std::any_of(processes_.begin(), processes_.end(),
                         [&](const Process& p) { return p.missed() && (next_ns < 0 || p.broken_ns + grace_ns < next_ns); });
    };
    if (next_ns < 0)
      changed_.wait(lock, stop, stirred);
    else
      changed_.wait_for(lock, stop, std::chrono::nanoseconds(std::max<comm::Ns>(next_ns - comm::now_ns(), 0)), stirred);
  }
}

}  // namespace shardlab::control
