// A fixed pool of worker threads, one a core, for the parallel loops of lockstep steps.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardlab {

// Thread rule: parallel_for is called by any thread, which takes part in the work itself, so a pool of one thread has no worker. The
// workers help one caller at a time; a loop begun meanwhile, also inside of another's items, has its caller alone.
class ThreadPool {
 public:
  // `threads`: 0 for one a core. `watch`: how long a thread with nothing to do looks for more before it sleeps. To wake it costs as much as
  // a small step computes; but where processes share the cores, looking keeps others from theirs.
  explicit ThreadPool(int threads, std::chrono::microseconds watch = {});
  ~ThreadPool();
  int threads() const { return int(workers_.size()) + 1; }
  // Runs f(0) … f(count - 1), in any order; returns when all are done. Rethrows the first error.
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& f);

 private:
  void work(std::stop_token stop);
  void run_items();
  void run_with_workers(std::int64_t count, const std::function<void(std::int64_t)>& f);
  // Until it is so, or `watch_` is over.
  template <typename Condition>
  void look_for(const Condition& is_so) const;

  const std::chrono::microseconds watch_;
  std::atomic<bool> taken_{false};  // by a caller
  std::mutex mutex_;
  std::condition_variable_any wake_, idle_;
  std::uint64_t generation_ = 0;
  std::atomic<std::uint64_t> open_{0};  // the generation while there is something to do, else 0; changed under the mutex
  std::atomic<int> busy_{0};            // changed under the mutex
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_ = 0;
  const std::function<void(std::int64_t)>* f_ = nullptr;
  std::exception_ptr error_;
  std::vector<std::jthread> workers_;
};

}  // namespace shardlab
