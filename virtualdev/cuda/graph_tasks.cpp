#include "virtualdev/cuda/graph_tasks.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
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

// Tasks of one level have none of them behind another. What they do, if it is kernels alone: these, and how they are launched.
struct Likeness {
  std::size_t level = 0, alone = 0;  // `alone`: a number of its own where it is like no other
  std::vector<std::pair<Kernel, unsigned>> kernels;
  bool operator<(const Likeness& other) const {
    return std::tie(level, alone, kernels) < std::tie(other.level, other.alone, other.kernels);
  }
};

// Arguments of kernels are up to 4096 bytes on all GPUs.
constexpr std::size_t kInstancesMax = 64, kArgumentBytesMax = 4096;
std::size_t capacity(std::size_t count) { return std::bit_ceil(count); }

struct Group {
  std::size_t level = 0;
  std::vector<std::size_t> tasks;
  std::vector<Kernel> kernels;  // for all of them; none: task by task
};

// How many are before each at least, one behind another.
std::vector<std::size_t> earliest_levels(const std::vector<GraphTask>& tasks) {
  std::vector<std::size_t> levels(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (std::size_t other : tasks[t].behind) levels[t] = std::max(levels[t], levels[other] + 1);
  return levels;
}
// As late as those behind it allow: what nobody waits for, as the updates of weights, then comes together.
std::vector<std::size_t> latest_levels(const std::vector<GraphTask>& tasks) {
  const std::vector<std::size_t> earliest = earliest_levels(tasks);
  std::vector<std::size_t> levels(tasks.size(), earliest.empty() ? 0 : *std::max_element(earliest.begin(), earliest.end()));
  for (std::size_t t = tasks.size(); t-- > 0;)
    for (std::size_t other : tasks[t].behind) levels[other] = std::min(levels[other], levels[t] - 1);
  return levels;
}

// By level, and within one by the first task.
std::vector<Group> groups_of(std::span<const Work> work, const std::vector<GraphTask>& tasks) {
  const std::vector<std::size_t> levels = latest_levels(tasks);
  std::map<Likeness, std::size_t> open;  // the group that takes the next like these
  std::vector<Group> groups;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    Likeness like{levels[t], 0, {}};
    std::size_t bytes = 0;
    for (std::size_t at : tasks[t].work) {
      auto* kernel = std::get_if<KernelWork>(&work[at]);
      if (kernel == nullptr || tasks[t].mark == kNone) {
        like.alone = t + 1;
        break;
      }
      like.kernels.push_back({kernel->kernel, kernel->block});
      bytes = std::max(bytes, kernel->arguments.size());
    }
    auto [found, is_new] = open.try_emplace(std::move(like), groups.size());
    if (!is_new) {
      const std::size_t count = groups[found->second].tasks.size() + 1;
      is_new = count > kInstancesMax || capacity(count) * bytes > kArgumentBytesMax;
      if (is_new) found->second = groups.size();
    }
    if (is_new) groups.push_back({levels[t], {}, {}});
    groups[found->second].tasks.push_back(t);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& x, const Group& y) { return x.level < y.level; });
  return groups;
}

// Of a group's tasks, whose places are those of all of them.
TaskWork mark_of(std::span<const Work> work, const std::vector<GraphTask>& tasks, const Group& group) {
  TaskWork whole;
  std::vector<const std::byte*> written;
  for (std::size_t t : group.tasks) {
    const TaskWork& mark = std::get<TaskWork>(work[tasks[t].mark]);
    const auto middle = mark.places.begin() + std::ptrdiff_t(mark.reads);
    whole.places.insert(whole.places.end(), mark.places.begin(), middle);
    written.insert(written.end(), middle, mark.places.end());
  }
  whole.reads = whole.places.size();
  whole.places.insert(whole.places.end(), written.begin(), written.end());
  return whole;
}

// Whether there are products of several devices, or as many other calls at once as are hardly one's.
bool is_beside(std::span<const Work> work, const std::vector<GraphTask>& tasks) {
  constexpr int kCallsMin = 3;
  const std::vector<std::size_t> levels = earliest_levels(tasks);
  std::map<std::size_t, int> calls;  // by level
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (std::size_t at : tasks[t].work) {
      auto* product = std::get_if<MatrixProduct>(&work[at]);
      if (product != nullptr && product->is_beside) return true;
    }
    const Work& first = work[tasks[t].work[0]];
    const bool is_call = !std::holds_alternative<KernelWork>(first) && !std::holds_alternative<RecordWork>(first);
    if (is_call && ++calls[levels[t]] >= kCallsMin) return true;
  }
  return false;
}

// The k-th kernel of a group's tasks, once for all.
KernelWork launch_of(std::span<const Work> work, const std::vector<GraphTask>& tasks, const Group& group, std::size_t k) {
  KernelWork all = std::get<KernelWork>(work[tasks[group.tasks[0]].work[k]]);
  all.kernel = group.kernels[k];
  all.instances = unsigned(group.tasks.size());
  for (std::size_t i = 1; i < group.tasks.size(); ++i) {
    const auto& other = std::get<KernelWork>(work[tasks[group.tasks[i]].work[k]]);
    all.grid = std::max(all.grid, other.grid);
    all.arguments.insert(all.arguments.end(), other.arguments.begin(), other.arguments.end());
  }
  all.arguments.resize(all.arguments.size() / all.instances * capacity(all.instances));
  return all;
}

}  // namespace

std::vector<GraphTask> tasks_of(std::span<const Work> work) {
  std::vector<GraphTask> tasks = Order(work).tasks;
  if (is_beside(work, tasks)) return tasks;
  for (std::size_t t = 1; t < tasks.size(); ++t) {
    tasks[t].behind = {t - 1};
    tasks[t].product_room = 0;
  }
  return tasks;
}

std::vector<Work> batched(std::span<const Work> work, const Batcher& batcher) {
  const std::vector<GraphTask> tasks = Order(work).tasks;
  std::vector<Group> groups = groups_of(work, tasks);
  std::vector<std::pair<Kernel, std::size_t>> wanted;
  for (const Group& group : groups)
    if (group.tasks.size() > 1)
      for (std::size_t at : tasks[group.tasks[0]].work) wanted.push_back({std::get<KernelWork>(work[at]).kernel, group.tasks.size()});
  if (wanted.empty()) return {work.begin(), work.end()};
  const std::vector<Kernel> kernels = batcher(wanted);
  auto next = kernels.begin();
  std::vector<Work> result;
  for (Group& group : groups) {
    if (group.tasks.size() > 1) {
      const auto end = next + std::ptrdiff_t(tasks[group.tasks[0]].work.size());
      if (std::find(next, end, Kernel{}) == end) group.kernels.assign(next, end);
      next = end;
    }
    if (!group.kernels.empty()) {
      result.push_back(mark_of(work, tasks, group));
      for (std::size_t k = 0; k < group.kernels.size(); ++k) result.push_back(launch_of(work, tasks, group, k));
      continue;
    }
    for (std::size_t t : group.tasks) {
      result.push_back(tasks[t].mark == kNone ? TaskWork{} : std::get<TaskWork>(work[tasks[t].mark]));
      for (std::size_t at : tasks[t].work) result.push_back(work[at]);
    }
  }
  return result;
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
