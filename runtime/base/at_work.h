// Whether this process computes inside the library: who does is not stuck, however long it takes.
#pragma once

#include <atomic>
#include <cstdint>

namespace shardlab {

// While one lives, its thread is at work in this process: it computes, plans, or reads and writes files, and waits for no other process.
class AtWork {
 public:
  AtWork() {
    under_way_.fetch_add(1, std::memory_order_relaxed);
    begun_.fetch_add(1, std::memory_order_relaxed);
  }
  ~AtWork() { under_way_.fetch_sub(1, std::memory_order_relaxed); }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // Whether anything is under way, or has begun since `begun` was told, which is brought up to now.
  static bool any_since(std::int64_t& begun) {
    std::int64_t before = begun;
    begun = begun_.load(std::memory_order_relaxed);
    return under_way_.load(std::memory_order_relaxed) != 0 || begun != before;
  }

 private:
  inline static std::atomic<std::int64_t> under_way_ = 0, begun_ = 0;
};

}  // namespace shardlab
