#include "runtime/control/gate.h"

#include <algorithm>

#include "runtime/comm/control.h"

namespace shardlab::control {

void Gate::throw_over(std::unique_lock<std::mutex>& lock) const {
  VerdictRef verdict = verdict_;
  std::string reason = reason_;
  lock.unlock();
  if (verdict) throw comm::DiagnosisError(verdict->code, verdict->text);
  throw TransportError(reason.empty() ? "every process of the job has ended" : reason);
}

bool Gate::admit(std::int64_t launch, const Report& report) {
  std::unique_lock lock(mutex_);
  auto blocked = [&] { return poisoned() ? poisoned_launches_ >= kPoisonedLaunchesMax : unmatched_.size() >= kUnmatchedMax; };
  bool waited = false;
  while (!over() && !fails(launch) && blocked()) {
    bool was_poisoned = poisoned();
    lock.unlock();
    report(was_poisoned);
    lock.lock();
    waited = true;
    changed_.wait(lock, [&] { return over() || fails(launch) || !blocked() || poisoned() != was_poisoned; });
  }
  if (fails(launch)) return waited;
  if (over()) throw_over(lock);
  unmatched_.push_back(launch);
  if (poisoned()) ++poisoned_launches_;
  return waited;
}

bool Gate::pass(std::int64_t launch, const Report& report) {
  std::unique_lock lock(mutex_);
  bool waited = false;
  auto passes = [&] { return fails(launch) || open_for(launch); };
  while (!over() && !left_ && !passes()) {
    bool was_poisoned = poisoned(), was_halted = halted_;
    lock.unlock();
    report(was_halted);
    lock.lock();
    waited = true;
    changed_.wait(lock, [&] { return over() || left_ || poisoned() != was_poisoned || halted_ != was_halted || passes(); });
  }
  if (!passes()) throw_over(lock);
  return waited;
}

bool Gate::may_run(std::int64_t launch) {
  if (!poisoned()) return true;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return over() || halted_ || open_for(launch); });
  return !over() && open_for(launch);
}

void Gate::pass_verdict(const Report& report) {
  std::unique_lock lock(mutex_);
  if (!poisoned()) return;
  if (!over()) {
    lock.unlock();
    report(true);
    lock.lock();
    changed_.wait(lock, [&] { return over(); });
  }
  throw_over(lock);
}

bool Gate::pass_leaving(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  bool ended = changed_.wait_for(lock, limit, [&] { return over() || left_; });
  if (over()) throw_over(lock);
  return ended;
}

void Gate::wait_acknowledged(int limit_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(limit_ms), [&] { return broken_ || acknowledged_; });
}

void Gate::matched(std::int64_t count) {
  std::lock_guard lock(mutex_);
  for (; matched_ < count && !unmatched_.empty(); ++matched_) unmatched_.pop_front();
  changed_.notify_all();
}

void Gate::fail(std::int64_t launch) {
  std::lock_guard lock(mutex_);
  failed_from_ = std::min(failed_from_, launch);
  changed_.notify_all();
}

void Gate::poison() {
  std::lock_guard lock(mutex_);
  poisoned_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void Gate::halt() {
  std::lock_guard lock(mutex_);
  poisoned_.store(true, std::memory_order_release);
  halted_ = true;
  changed_.notify_all();
}

void Gate::verdict(VerdictRef verdict) {
  std::lock_guard lock(mutex_);
  poisoned_.store(true, std::memory_order_release);
  if (!verdict_) verdict_ = std::move(verdict);
  changed_.notify_all();
}

void Gate::broken(std::string reason) {
  std::lock_guard lock(mutex_);
  poisoned_.store(true, std::memory_order_release);
  if (!broken_) reason_ = std::move(reason);
  broken_ = true;
  changed_.notify_all();
}

void Gate::left() {
  std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

void Gate::acknowledged() {
  std::lock_guard lock(mutex_);
  acknowledged_ = true;
  changed_.notify_all();
}

bool Gate::is_matched(std::int64_t launch) const {
  std::lock_guard lock(mutex_);
  return open_for(launch);
}

std::int64_t Gate::first_open() const {
  std::lock_guard lock(mutex_);
  return unmatched_.empty() ? std::numeric_limits<std::int64_t>::max() : unmatched_.front();
}

VerdictRef Gate::current_verdict() const {
  std::lock_guard lock(mutex_);
  return verdict_;
}

}  // namespace shardlab::control
