// How long this process has planned and compiled programs: what a first call takes longer than those after it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace shardlab {

// While one lives, its thread traces, plans or compiles a program. One within another adds nothing.
class PlanningTime {
 public:
  PlanningTime() : begun_(now_ns()), before_(total_ns()) {}
  ~PlanningTime() {
    const std::int64_t within_ns = total_ns() - before_;
    total_.fetch_add(std::max<std::int64_t>(0, now_ns() - begun_ - within_ns), std::memory_order_relaxed);
  }
  PlanningTime(const PlanningTime&) = delete;
  PlanningTime& operator=(const PlanningTime&) = delete;

  // Of all that have ended.
  static std::int64_t total_ns() { return total_.load(std::memory_order_relaxed); }

 private:
  static std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  inline static std::atomic<std::int64_t> total_ = 0;
  std::int64_t begun_, before_;
};

}  // namespace shardlab
