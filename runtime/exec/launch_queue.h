// The launches on their way: which may begin when, and on which thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/exec/array_impl.h"

namespace shardlab {

// One launch on its way.
struct QueuedLaunch {
  std::int64_t number = 0;             // ascending
  std::vector<int> devices;            // ordinals of this process's devices that it computes on or reads from
  std::vector<std::int64_t> operands;  // the launches that make what it takes, as far as they have not ended
  bool in_order = false;               // runs in the one executing thread
  std::shared_ptr<LaunchState> state;
  std::function<void()> run;  // sets the state; lets go of all that the launch holds. Does not throw
};

// Order: a launch begins when those before it on any of its devices have ended, and those that make its operands. The ones in order run one
// by one in one thread, which waits for the first of them; all others run on further threads, which are given what is ready and never
// wait for a launch. So each wait is for an earlier launch, and a circle would need one for a later (decision 0030).
//
// Thread rules: add(), may_begin(), is_empty() and wait_until_empty() come from the issuing thread.
class LaunchQueue {
 public:
  // At most so many threads beside the executing one; the threads are started with the first launches that need them.
  explicit LaunchQueue(int runners_max) : runners_max_(std::size_t(runners_max)) {}
  ~LaunchQueue();  // waits until all have ended
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;

  bool is_empty() const;
  // Whether everything that the launch must wait for has ended.
  bool may_begin(const QueuedLaunch& launch) const;
  // Waits where a device has kAheadMax launches before it that wait for no other process.
  void add(QueuedLaunch launch);
  void wait_until_empty();

  // What is issued ahead holds its operands.
  static constexpr int kAheadMax = 32;

 private:
  struct Entry {
    QueuedLaunch launch;
    int waits_for = 0;
    std::vector<Entry*> followers;
  };
  struct Device {
    std::int64_t last = -1;  // launch
    int count = 0;           // of launches
  };
  struct ByNumber {
    bool operator()(const Entry* a, const Entry* b) const { return a->launch.number < b->launch.number; }
  };

  std::vector<Entry*> before(const QueuedLaunch& launch) const;
  bool is_far_ahead(const QueuedLaunch& launch) const;
  void call_runner(bool has_own);
  void end(Entry& entry, bool in_runner);
  void run_in_order(std::stop_token stop);
  void run_ready(std::stop_token stop);

  const std::size_t runners_max_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;               // for the issuing thread
  std::condition_variable_any order_advanced_;  // for the executing thread: the first in order may begin
  std::condition_variable_any some_ready_;      // for the runners
  std::map<std::int64_t, std::unique_ptr<Entry>> entries_;
  std::unordered_map<int, Device> devices_;
  std::deque<Entry*> in_order_;
  std::set<Entry*, ByNumber> ready_;  // of those not in order, the earliest first
  std::size_t idle_ = 0;              // runners
  std::jthread executing_;
  std::vector<std::jthread> runners_;
};

}  // namespace shardlab
