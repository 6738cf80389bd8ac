#include "runtime/control/barriers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace shardlab::control {
namespace {

using Kind = BarrierEnd::Kind;

// A caller may ask for any time; beyond this it is for ever, and clocks do not overflow.
constexpr std::chrono::hours kForEver{24 * 365};

std::string at(const std::string& where) { return where.empty() ? "" : " at " + where; }

std::string ended_text(int process, const std::string& how, const std::string& barrier) {
  return fmt::format("ABORTED: Barrier failed: process {} {} and comes no more. Barrier Id: {}", process, how, barrier);
}

}  // namespace

Barriers::Barriers(int num_processes, std::function<std::string(int)> describe, BarrierWatch told)
    : num_processes_(num_processes),
      describe_(std::move(describe)),
      watched_by_(std::move(told)),
      watcher_([this](std::stop_token stop) { watch(stop); }) {}

Barriers::~Barriers() = default;

std::string Barriers::refusal(const Arrival& arrival, const std::set<int>& participants) const {
  if (arrival.barrier.size() > kNameBytesMax || arrival.where.size() > kWhereBytesMax)
    return "INVALID_ARGUMENT: a barrier's name is too long";
  if (arrival.timeout.count() <= 0)
    return fmt::format("INVALID_ARGUMENT: a barrier's timeout is positive; got {} ms. Barrier Id: {}", arrival.timeout.count(),
                       arrival.barrier);
  for (int process : participants)
    if (process < 0 || process >= num_processes_)
      return fmt::format("INVALID_ARGUMENT: Unexpected process ({}) that is not in the job of {} processes. Barrier Id: {}", process,
                         num_processes_, arrival.barrier);
  if (!participants.contains(arrival.process))
    return fmt::format("INVALID_ARGUMENT: A non-participating process ({}) called the barrier: {}. Its participants are {}",
                       arrival.process, arrival.barrier, fmt::join(participants, ", "));
  return "";
}

std::string Barriers::conflict(const Arrival& arrival, const std::set<int>& participants, const Barrier& barrier) const {
  const Waiter& first = barrier.here.at(barrier.first);
  return fmt::format(
      "INVALID_ARGUMENT: Conflicting processes specified by different processes for the same barrier: {}. Process {}{} says {}; process "
      "{}{} says {}. All that take part give the same list",
      arrival.barrier, barrier.first, at(first.where), fmt::join(barrier.participants, ", "), arrival.process, at(arrival.where),
      fmt::join(participants, ", "));
}

std::uint64_t Barriers::arrive(const Arrival& arrival, Answer answer) {
  std::lock_guard lock(mutex_);
  std::set<int> participants(arrival.participants.begin(), arrival.participants.end());
  if (participants.empty())
    for (int p = 0; p < num_processes_; ++p) participants.insert(p);
  auto refuse = [&](Kind kind, std::string why) {
    answer({kind, std::move(why)});
    return std::uint64_t(0);
  };
  if (std::string why = refusal(arrival, participants); !why.empty()) return refuse(Kind::kRefused, std::move(why));
  if (barriers_.size() >= kBarriersMax && !barriers_.contains(arrival.barrier))
    return refuse(Kind::kTooMany, fmt::format("RESOURCE_EXHAUSTED: there are {} barriers", kBarriersMax));

  auto found = barriers_.try_emplace(arrival.barrier).first;
  Barrier& barrier = found->second;
  if (auto told = barrier.still_to_be_told.find(arrival.process); told != barrier.still_to_be_told.end()) {
    BarrierEnd end = std::move(told->second);
    barrier.still_to_be_told.erase(told);
    forget_idle(found);
    answer(end);
    return 0;
  }
  if (barrier.here.contains(arrival.process))
    return refuse(Kind::kRefused, fmt::format("INVALID_ARGUMENT: process {} waits at the barrier already. Barrier Id: {}", arrival.process,
                                              arrival.barrier));
  const Clock::time_point limit = Clock::now() + std::min<std::chrono::milliseconds>(arrival.timeout, kForEver);
  const bool is_first = barrier.here.empty();
  if (is_first) {
    barrier.participants = participants;
    barrier.first = arrival.process;
  }
  const bool fits = barrier.participants == participants;
  std::string why_not = fits ? std::string() : conflict(arrival, participants, barrier);
  const std::uint64_t ticket = next_ticket_++;
  barrier.here[arrival.process] = {ticket, arrival.where, std::move(answer)};
  barrier_of_[ticket] = arrival.barrier;
  if (!fits) {
    barrier.participants.insert(participants.begin(), participants.end());
    end(found, {Kind::kRefused, std::move(why_not)});
    forget_idle(found);
    return 0;
  }
  auto gone = std::find_if(ended_.begin(), ended_.end(),
                           [&](const auto& each) { return participants.contains(each.first) && !barrier.here.contains(each.first); });
  const bool complete = barrier.here.size() == barrier.participants.size();
  if (gone != ended_.end() || complete) {
    end(found, complete ? BarrierEnd{} : BarrierEnd{Kind::kEnded, ended_text(gone->first, gone->second, arrival.barrier)});
    forget_idle(found);
    return 0;
  }
  if (is_first || limit < barrier.limit) this->limit(found, limit);
  if (watched_by_.waits) watched_by_.waits(arrival, participants);
  return ticket;
}

bool Barriers::withdraw(std::uint64_t ticket) {
  std::lock_guard lock(mutex_);
  auto found = barrier_of_.find(ticket);
  if (found == barrier_of_.end()) return false;
  std::string name = std::move(found->second);
  barrier_of_.erase(found);
  auto at = barriers_.find(name);
  Barrier& barrier = at->second;
  auto goer = std::find_if(barrier.here.begin(), barrier.here.end(), [&](const auto& each) { return each.second.ticket == ticket; });
  const int process = goer->first;
  barrier.here.erase(goer);
  barrier.participants.erase(process);  // it knows
  end(at, {Kind::kEnded, fmt::format("ABORTED: Barrier failed: process {} waits there no more. Barrier Id: {}", process, name)});
  forget_idle(at);
  return true;
}

void Barriers::ended(int process, const std::string& how) {
  std::lock_guard lock(mutex_);
  ended_.try_emplace(process, how);
  for (auto at = barriers_.begin(); at != barriers_.end();) {
    Barrier& barrier = at->second;
    barrier.still_to_be_told.erase(process);
    if (!barrier.here.empty() && barrier.participants.contains(process)) end(at, {Kind::kEnded, ended_text(process, how, at->first)});
    auto next = forget_idle(at);
    at = next == at ? std::next(at) : next;
  }
}

void Barriers::returned(int process) {
  std::lock_guard lock(mutex_);
  ended_.erase(process);
}

void Barriers::limit(Named::iterator at, Clock::time_point limit) {
  limits_.erase({at->second.limit, at->first});
  at->second.limit = limit;
  auto place = limits_.emplace(limit, at->first).first;
  if (place == limits_.begin()) changed_.notify_all();
}

// Passing ends it for those who are here, which are all; of a failure, who is not here is told when it comes. Who has ended never does.
void Barriers::end(Named::iterator at, const BarrierEnd& how) {
  Barrier& barrier = at->second;
  limits_.erase({barrier.limit, at->first});
  if (watched_by_.over) watched_by_.over(at->first);
  for (int process : barrier.participants)
    if (!barrier.here.contains(process) && !ended_.contains(process)) barrier.still_to_be_told[process] = how;
  for (auto& [process, waiter] : barrier.here) {
    barrier_of_.erase(waiter.ticket);
    waiter.answer(how);
  }
  barrier.here.clear();
  barrier.participants.clear();
}

Barriers::Named::iterator Barriers::forget_idle(Named::iterator at) {
  return at->second.here.empty() && at->second.still_to_be_told.empty() ? barriers_.erase(at) : at;
}

std::string Barriers::timeout_text(const std::string& name, const Barrier& barrier) const {
  std::string here, missing;
  std::size_t count = 0;
  for (const auto& [process, waiter] : barrier.here) here += fmt::format("{}{}{}", here.empty() ? "" : ", ", process, at(waiter.where));
  for (int process : barrier.participants) {
    if (barrier.here.contains(process) || ++count > kMissingNamed) continue;
    std::string is = describe_ ? describe_(process) : std::string();
    missing += fmt::format("{}{}{}", missing.empty() ? "" : ", ", process, is.empty() ? "" : " (" + is + ")");
  }
  if (count > kMissingNamed) missing += fmt::format(" and {} more", count - kMissingNamed);
  return fmt::format(
      "DEADLINE_EXCEEDED: Barrier timed out. Id: {}. # of processes that reached the barrier: {}/{}: {}. The first process at the barrier: "
      "{}. Missing: {}",
      name, barrier.here.size(), barrier.participants.size(), here, barrier.first, missing);
}

void Barriers::watch(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Clock::time_point now = Clock::now();
    while (!limits_.empty() && limits_.begin()->first <= now) {
      auto at = barriers_.find(limits_.begin()->second);
      end(at, {Kind::kTimedOut, timeout_text(at->first, at->second)});
    }
    const Clock::time_point next = limits_.empty() ? now + kForEver : limits_.begin()->first;
    changed_.wait_until(lock, stop, next, [&] { return !limits_.empty() && limits_.begin()->first < next; });
  }
}

}  // namespace shardlab::control
