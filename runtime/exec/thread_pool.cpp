#include "runtime/exec/thread_pool.h"

#include <algorithm>
#include <utility>

namespace shardlab {

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = int(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this](std::stop_token stop) { work(stop); });
}

ThreadPool::~ThreadPool() {
  for (std::jthread& worker : workers_) worker.request_stop();
  wake_.notify_all();
}

void ThreadPool::run_items() {
  while (true) {
    std::int64_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= count_) return;
    try {
      (*f_)(item);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(count_, std::memory_order_relaxed);
    }
  }
}

void ThreadPool::work(std::stop_token stop) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    if (!wake_.wait(lock, stop, [&] { return generation_ != seen && f_ != nullptr; })) return;
    seen = generation_;
    ++busy_;
    lock.unlock();
    run_items();
    lock.lock();
    if (--busy_ == 0) idle_.notify_all();
  }
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& f) {
  if (count <= 0) return;
  if (count == 1 || workers_.empty() || taken_.exchange(true, std::memory_order_acquire)) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  try {
    run_with_workers(count, f);
  } catch (...) {
    taken_.store(false, std::memory_order_release);
    throw;
  }
  taken_.store(false, std::memory_order_release);
}

void ThreadPool::run_with_workers(std::int64_t count, const std::function<void(std::int64_t)>& f) {
  {
    std::lock_guard lock(mutex_);
    f_ = &f;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    ++generation_;
    ++busy_;  // this thread
  }
  wake_.notify_all();
  run_items();
  std::unique_lock lock(mutex_);
  if (--busy_ > 0) idle_.wait(lock, [&] { return busy_ == 0; });
  f_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace shardlab
