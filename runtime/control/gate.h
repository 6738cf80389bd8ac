// The gate: what one process knows of the agreement on its launches, and where it waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <string>

#include "runtime/control/verdict.h"

namespace shardlab::control {

// Thread-safe. Launches enter when issued and leave when matched, in order. What is matched is sound whatever comes later: who waits for it
// passes, and it runs. So does who waits for a launch that has failed in this process, or for one after it: there is no value whose
// agreement matters. For the rest four things end it: a poison (launches are still admitted, for the look-ahead), a halt (a message did not
// fit: nothing is believed any more), a verdict and a broken control plane (everybody who waits or comes later is thrown out).
class Gate {
 public:
  static constexpr std::size_t kUnmatchedMax = 1024;          // then the next issue waits
  static constexpr std::int64_t kPoisonedLaunchesMax = 1000;  // then it waits for the verdict

  // `report` is called, outside the lock, each time that waiting begins or the poison reaches a waiter; `for_good`: whatever is matched.
  using Report = std::function<void(bool for_good)>;

  // Throws DiagnosisError after the verdict, TransportError when the control plane is gone. Returns whether it waited.
  bool admit(std::int64_t launch, const Report& report);
  // Returns once all launches up to `launch` are matched, or it has failed here. Returns whether it waited.
  bool pass(std::int64_t launch, const Report& report);
  // Whether the launch may run; after a poison it waits until the launch is matched or never will be.
  bool may_run(std::int64_t launch);
  // Waits for the verdict that follows a poison, and throws it; returns where there is no poison.
  void pass_verdict(const Report& report);
  // Returns once the process has left; false when that took longer than the limit.
  bool pass_leaving(std::chrono::milliseconds limit);
  // Waits until `raised` is acknowledged, the control plane is gone or `limit_ms` passed.
  void wait_acknowledged(int limit_ms);

  void matched(std::int64_t count);
  // All launches from this one on fail here.
  void fail(std::int64_t launch);
  void poison();
  void halt();
  void verdict(VerdictRef verdict);
  void broken(std::string reason);
  void left();
  void acknowledged();

  bool is_matched(std::int64_t launch) const;
  // The first launch that is not matched, one beyond all where there is none.
  std::int64_t first_open() const;
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  VerdictRef current_verdict() const;

 private:
  // Unlocks first: an error that nobody catches ends the process where it is thrown, and its terminate handler asks this gate.
  [[noreturn]] void throw_over(std::unique_lock<std::mutex>& lock) const;
  bool over() const { return verdict_ || broken_; }
  bool open_for(std::int64_t launch) const { return !halted_ && (unmatched_.empty() || unmatched_.front() > launch); }
  bool fails(std::int64_t launch) const { return launch >= failed_from_; }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::int64_t> unmatched_;
  std::int64_t matched_ = 0, poisoned_launches_ = 0, failed_from_ = std::numeric_limits<std::int64_t>::max();
  std::atomic<bool> poisoned_ = false;
  bool halted_ = false, broken_ = false, left_ = false, acknowledged_ = false;
  std::string reason_;
  VerdictRef verdict_;
};

}  // namespace shardlab::control
