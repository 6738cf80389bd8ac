#include "virtualdev/cuda/graph_tasks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace shardlab::cuda {
namespace {

constexpr std::size_t kNone = ~std::size_t(0);

class Order {
 public:
  explicit Order(std::span<const Work> work) {
    std::size_t open = kNone;  // the mark of a task
    bool is_new = true;        // the next work begins a task
    for (std::size_t at = 0; at < work.size(); ++at) {
      if (auto* mark = std::get_if<TaskWork>(&work[at])) {
        open = mark->places.empty() ? kNone : at;
        is_new = true;
        continue;
      }
      // What the host takes the time of is between all that is before and all that is behind it.
      const bool is_record = std::holds_alternative<RecordWork>(work[at]);
      if (open == kNone || is_record) {
        if (is_new || barrier_ == kNone || barrier_ + 1 != tasks.size()) add_barrier();
        is_new = is_record;
      } else if (is_new) {
        add(std::get<TaskWork>(work[open]));
        tasks.back().mark = open;
        is_new = false;
      }
      tasks.back().work.push_back(at);
      if (std::holds_alternative<MatrixProduct>(work[at])) give_room();
      if (std::holds_alternative<RowTransforms>(work[at])) touch(&transforms_, true);
    }
  }

  std::vector<GraphTask> tasks;

 private:
  struct Place {
    std::size_t writer = kNone;
    std::vector<std::size_t> readers;  // since
  };

  void add_barrier() {
    GraphTask task;
    const std::size_t first = barrier_ == kNone ? 0 : barrier_;
    std::vector<bool> is_behind(tasks.size() - first);
    for (std::size_t t = first; t < tasks.size(); ++t)
      for (std::size_t other : tasks[t].behind)
        if (other >= first) is_behind[other - first] = true;
    for (std::size_t t = first; t < tasks.size(); ++t)
      if (!is_behind[t - first]) task.behind.push_back(t);
    barrier_ = tasks.size();
    tasks.push_back(std::move(task));
    places_.clear();
    has_room_ = false;
  }
  void add(const TaskWork& mark) {
    tasks.emplace_back();
    has_room_ = false;
    for (std::size_t i = 0; i < mark.places.size(); ++i) touch(mark.places[i], i >= mark.reads);
    if (tasks.back().behind.empty() && barrier_ != kNone) come_behind(barrier_);
  }
  void touch(const void* address, bool writes) {
    const std::size_t self = tasks.size() - 1;
    if (self == barrier_) return;  // behind all, and before all
    Place& place = places_[address];
    if (place.writer != kNone) come_behind(place.writer);
    if (!writes) {
      place.readers.push_back(self);
      return;
    }
    for (std::size_t reader : place.readers) come_behind(reader);
    place = {self, {}};
  }
  void come_behind(std::size_t other) {
    std::vector<std::size_t>& behind = tasks.back().behind;
    if (other + 1 != tasks.size() && std::find(behind.begin(), behind.end(), other) == behind.end()) behind.push_back(other);
  }
  void give_room() {
    if (has_room_) return;
    has_room_ = true;
    if (tasks.size() - 1 == barrier_) return;  // the first is free then
    tasks.back().product_room = next_room_;
    touch(&rooms_[next_room_], true);
    next_room_ = (next_room_ + 1) % kProductRoomsMax;
  }

  std::unordered_map<const void*, Place> places_;  // since the last barrier
  std::size_t barrier_ = kNone;
  int next_room_ = 0;
  bool has_room_ = false;              // the task that was added last
  char rooms_[kProductRoomsMax] = {};  // their addresses stand for the libraries' rooms
  char transforms_ = 0;
};

// How many are before each at least, one behind another.
std::vector<std::size_t> earliest_levels(const std::vector<GraphTask>& tasks) {
  std::vector<std::size_t> levels(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (std::size_t other : tasks[t].behind) levels[t] = std::max(levels[t], levels[other] + 1);
  return levels;
}

// Products of several devices that are no one call.
bool is_beside(const MatrixProduct& product) { return product.is_beside && product.others.empty(); }
bool is_beside(std::span<const Work> work, const GraphTask& task) {
  return std::any_of(task.work.begin(), task.work.end(), [&](std::size_t at) {
    auto* product = std::get_if<MatrixProduct>(&work[at]);
    return product != nullptr && is_beside(*product);
  });
}
bool is_together(std::span<const Work> work) {
  return std::any_of(work.begin(), work.end(), [](const Work& each) {
    auto* product = std::get_if<MatrixProduct>(&each);
    return product != nullptr && !product->others.empty();
  });
}

// Whether there are products of several devices, or as many other calls at once as are hardly one's.
bool is_beside(std::span<const Work> work, const std::vector<GraphTask>& tasks) {
  constexpr int kCallsMin = 3;
  const std::vector<std::size_t> levels = earliest_levels(tasks);
  std::map<std::size_t, int> calls;  // by level
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (is_beside(work, tasks[t])) return true;
    const Work& first = work[tasks[t].work[0]];
    const bool is_call = !std::holds_alternative<KernelWork>(first) && !std::holds_alternative<RecordWork>(first);
    if (is_call && ++calls[levels[t]] >= kCallsMin) return true;
  }
  return false;
}

// Kernels of few threads, which leave most of a GPU idle.
bool is_small(std::span<const Work> work, const GraphTask& task) {
  constexpr std::size_t kThreadsMax = 64 * 256;
  std::size_t threads = 0;
  for (std::size_t at : task.work) {
    auto* kernel = std::get_if<KernelWork>(&work[at]);
    if (kernel == nullptr) return false;
    threads += std::size_t(kernel->grid) * kernel->block * kernel->instances;
  }
  return task.has_mark() && threads <= kThreadsMax;
}

// Small ones that the next one in line is not behind, not even by way of others.
std::vector<bool> are_aside(std::span<const Work> work, const std::vector<GraphTask>& tasks) {
  std::vector<bool> aside(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) aside[t] = is_small(work, tasks[t]);
  for (std::size_t t = tasks.size(); t-- > 0;) {
    if (aside[t]) continue;
    std::size_t first = t;  // of the small ones since the one in line before
    while (first > 0 && aside[first - 1]) --first;
    std::vector<std::size_t> wanted{t};
    while (!wanted.empty()) {
      const std::size_t of = wanted.back();
      wanted.pop_back();
      for (std::size_t other : tasks[of].behind)
        if (other >= first && aside[other]) {
          aside[other] = false;
          wanted.push_back(other);
        }
    }
  }
  return aside;
}

// One behind the other, and beside that line another one of what is aside.
void put_in_line(std::vector<GraphTask>& tasks, const std::vector<bool>& aside) {
  std::size_t last = kNone, last_aside = kNone;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    std::vector<std::size_t> behind;
    auto add = [&](std::size_t other) {
      if (other != kNone && std::find(behind.begin(), behind.end(), other) == behind.end()) behind.push_back(other);
    };
    // Of the others in line the last one of those will do; without a mark, it is behind all.
    std::size_t in_line = kNone;
    for (std::size_t other : tasks[t].behind) {
      if (aside[other])
        add(other);
      else if (in_line == kNone || other > in_line)
        in_line = other;
    }
    add(aside[t] ? in_line : last);
    if (aside[t] || !tasks[t].has_mark()) add(last_aside);
    (aside[t] ? last_aside : last) = t;
    tasks[t].behind = std::move(behind);
    tasks[t].product_room = 0;
  }
}

}  // namespace

std::vector<GraphTask> tasks_by_touch(std::span<const Work> work) { return Order(work).tasks; }

std::vector<GraphTask> tasks_of(std::span<const Work> work) {
  std::vector<GraphTask> tasks = tasks_by_touch(work);
  const bool has_paths = is_beside(work, tasks);
  if (has_paths && !is_together(work)) return tasks;
  if (!has_paths) {
    put_in_line(tasks, are_aside(work, tasks));
    return tasks;
  }
  // One behind the other, but for products beside each other, which together are behind those before.
  std::size_t first = 0;  // of those
  std::vector<std::size_t> before;
  for (std::size_t t = 1; t < tasks.size(); ++t) {
    const auto& behind = tasks[t].behind;
    const bool may_join = is_beside(work, tasks[t]) && is_beside(work, tasks[t - 1]) &&
                          std::none_of(behind.begin(), behind.end(), [&](std::size_t other) { return other >= first; });
    if (!may_join) {
      before.resize(t - first);
      std::iota(before.begin(), before.end(), first);
      first = t;
    }
    tasks[t].behind = before;
  }
  return tasks;
}

std::vector<std::size_t> last_of(std::span<const GraphTask> tasks) {
  std::vector<bool> is_before(tasks.size());
  for (const GraphTask& task : tasks)
    for (std::size_t other : task.behind) is_before[other] = true;
  std::vector<std::size_t> last;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (!is_before[t]) last.push_back(t);
  return last;
}

}  // namespace shardlab::cuda
