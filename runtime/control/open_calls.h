// Counts the calls that a server is still in, so that nothing they use goes before them.
#pragma once

#include <condition_variable>
#include <mutex>

namespace shardlab::control {

class OpenCalls {
 public:
  void began() {
    std::lock_guard lock(mutex_);
    ++count_;
  }
  void ended() {
    std::lock_guard lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void wait_none() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace shardlab::control
