#include "runtime/exec/thread_pool.h"

#include <algorithm>
#include <utility>

#include "runtime/exec/flush_denormals.h"

namespace shardlab {

ThreadPool::ThreadPool(int threads, std::chrono::microseconds watch) : watch_(watch) {
  if (threads <= 0) threads = int(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this](std::stop_token stop) { work(stop); });
}

ThreadPool::~ThreadPool() {
  for (std::jthread& worker : workers_) worker.request_stop();
  wake_.notify_all();
}

template <typename Condition>
void ThreadPool::look_for(const Condition& is_so) const {
  if (watch_.count() == 0) return;
  const auto end = std::chrono::steady_clock::now() + watch_;
  while (!is_so() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
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
  const FlushDenormals flush;
  std::uint64_t seen = 0;
  auto has_more = [&] { return open_ != 0 && open_ != seen; };
  while (true) {
    look_for([&] { return has_more() || stop.stop_requested(); });
    std::unique_lock lock(mutex_);
    if (!wake_.wait(lock, stop, has_more)) return;
    seen = open_;
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
    open_ = ++generation_;
    ++busy_;  // this thread
  }
  wake_.notify_all();
  run_items();
  {
    std::lock_guard lock(mutex_);
    --busy_;
  }
  look_for([&] { return busy_ == 0; });
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return busy_ == 0; });
  open_ = 0;
  f_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace shardlab
