#include "runtime/exec/launch_queue.h"

#include <algorithm>
#include <utility>

namespace shardlab {

LaunchQueue::~LaunchQueue() {
  wait_until_empty();
  executing_.request_stop();
  for (std::jthread& runner : runners_) runner.request_stop();
}

bool LaunchQueue::is_empty() const {
  std::lock_guard lock(mutex_);
  return entries_.empty();
}

bool LaunchQueue::may_begin(const QueuedLaunch& launch) const {
  std::lock_guard lock(mutex_);
  return before(launch).empty();
}

void LaunchQueue::wait_until_empty() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return entries_.empty(); });
}

// What the launch comes directly after. One that has ended may still be letting go of what it held.
std::vector<LaunchQueue::Entry*> LaunchQueue::before(const QueuedLaunch& launch) const {
  std::vector<Entry*> found;
  auto add = [&](std::int64_t number) {
    const auto entry = entries_.find(number);
    if (entry != entries_.end() && !entry->second->launch.state->finished()) found.push_back(entry->second.get());
  };
  for (int device : launch.devices)
    if (const auto on = devices_.find(device); on != devices_.end() && on->second.count > 0) add(on->second.last);
  for (std::int64_t operand : launch.operands) add(operand);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool LaunchQueue::is_far_ahead(const QueuedLaunch& launch) const {
  // What waits for other processes may end only after this process has issued more.
  if (launch.in_order || !in_order_.empty()) return false;
  return std::any_of(launch.devices.begin(), launch.devices.end(), [&](int device) {
    const auto on = devices_.find(device);
    return on != devices_.end() && on->second.count >= kAheadMax;
  });
}

void LaunchQueue::add(QueuedLaunch launch) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return !is_far_ahead(launch); });
  auto made = std::make_unique<Entry>();
  Entry& entry = *made;
  for (Entry* earlier : before(launch)) {
    earlier->followers.push_back(&entry);
    ++entry.waits_for;
  }
  for (int device : launch.devices) {
    Device& on = devices_[device];
    on.last = launch.number;
    ++on.count;
  }
  entry.launch = std::move(launch);
  entries_.emplace(entry.launch.number, std::move(made));
  if (entry.launch.in_order) {
    in_order_.push_back(&entry);
    if (!executing_.joinable()) executing_ = std::jthread([this](std::stop_token stop) { run_in_order(stop); });
    order_advanced_.notify_one();
  } else if (entry.waits_for == 0) {
    ready_.insert(&entry);
    call_runner(false);
  }
}

// Something became ready. `has_own`: the calling runner is about to take one.
void LaunchQueue::call_runner(bool has_own) {
  if (ready_.size() > idle_ + (has_own ? 1 : 0) && runners_.size() < runners_max_)
    runners_.emplace_back([this](std::stop_token stop) { run_ready(stop); });
  else
    some_ready_.notify_one();
}

void LaunchQueue::end(Entry& entry, bool in_runner) {
  for (int device : entry.launch.devices) --devices_[device].count;
  bool has_own = false;
  for (Entry* follower : entry.followers) {
    if (--follower->waits_for > 0) continue;
    if (follower->launch.in_order) {
      order_advanced_.notify_one();
      continue;
    }
    ready_.insert(follower);
    if (in_runner && !has_own)
      has_own = true;  // woken runners would come too late
    else
      call_runner(has_own);
  }
  entries_.erase(entry.launch.number);
  ended_.notify_one();
}

void LaunchQueue::run_in_order(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (order_advanced_.wait(lock, stop, [&] { return !in_order_.empty() && in_order_.front()->waits_for == 0; })) {
    Entry& entry = *in_order_.front();
    lock.unlock();
    entry.launch.run();
    lock.lock();
    in_order_.pop_front();
    end(entry, false);
  }
}

void LaunchQueue::run_ready(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool any = some_ready_.wait(lock, stop, [&] { return !ready_.empty(); });
    --idle_;
    if (!any) return;
    Entry& entry = **ready_.begin();
    ready_.erase(ready_.begin());
    lock.unlock();
    entry.launch.run();
    lock.lock();
    end(entry, true);
  }
}

}  // namespace shardlab
