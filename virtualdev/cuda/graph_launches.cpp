// Which tasks of a graph are one launch, or one call.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "virtualdev/cuda/graph_tasks.h"

namespace shardlab::cuda {
namespace {

// What a task does, where it is kernels, and how they are launched, and products that may be one call.
struct Likeness {
  std::size_t alone = 0;                             // a number of its own where it is like no other
  bool is_unordered = false;                         // each kernel once then, in the order of their handles
  std::vector<std::pair<Kernel, unsigned>> kernels;  // those of products are none
  std::vector<std::int64_t> products;                // what is alike of each
  bool operator<(const Likeness& other) const {
    return std::tie(alone, is_unordered, kernels, products) < std::tie(other.alone, other.is_unordered, other.kernels, other.products);
  }
  void add(const MatrixProduct& p) {
    kernels.push_back({});
    for (std::int64_t number : {std::int64_t(p.dtype), p.m, p.n, p.k, p.left_m, p.left_k, p.right_k, p.right_n,
                                std::bit_cast<std::int64_t>(p.scale), std::int64_t(p.together)})
      products.push_back(number);
  }
};

// Arguments of kernels are up to 4096 bytes on all GPUs.
constexpr std::size_t kInstancesMax = 64, kArgumentBytesMax = 4096;
std::size_t capacity(std::size_t count) { return std::bit_ceil(count); }

// Tasks that do the same, none of them behind another, by way of none.
struct Group {
  std::vector<std::size_t> tasks;
  std::vector<std::size_t> behind;  // groups
  std::size_t bytes = 0;            // of a launch's arguments, at most
  std::size_t together = 0;         // as many make a call of their products; 0: there are none
  bool is_unordered = false;
  std::size_t level = 0;

  bool has_room_for(std::size_t more_bytes) const {
    const std::size_t count = tasks.size() + 1;
    if (is_unordered) return true;  // it is as many launches as it takes
    return count <= kInstancesMax && capacity(count) * std::max(bytes, more_bytes) <= kArgumentBytesMax &&
           (together == 0 || count <= together);
  }
};

// What a group is in a graph: launches of one kernel with several sets of arguments, or one, and products.
struct Launch {
  std::vector<const KernelWork*> sets;
  std::optional<MatrixProduct> product;
};

// Grows groups task by task. One joins the group of its like that came last, if it is not behind that. So it does not matter that devices
// of one GPU use memory that others let go, and come behind those at places of their own.
class Grouping {
 public:
  Grouping(std::span<const Work> work, const std::vector<GraphTask>& tasks) : work_(work), tasks_(tasks), group_of_(tasks.size()) {
    for (std::size_t t = 0; t < tasks.size(); ++t) add(t);
    set_levels();
  }
  // In an order in which they may be done: as late as those behind them allow, so that what nobody waits for comes last.
  std::vector<Group> take() {
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& x, const Group& y) { return x.level < y.level; });
    return std::move(groups_);
  }

 private:
  void add(std::size_t t) {
    Group own;
    Likeness like;
    for (std::size_t at : tasks_[t].work) {
      auto* kernel = std::get_if<KernelWork>(&work_[at]);
      auto* product = std::get_if<MatrixProduct>(&work_[at]);
      const bool is_one_of_many = product != nullptr && product->together > 0;
      if (!tasks_[t].has_mark() || (kernel == nullptr && !is_one_of_many)) {
        like.alone = t + 1;
        break;
      }
      if (is_one_of_many) {
        own.together = std::size_t(product->together);
        like.add(*product);
        continue;
      }
      like.kernels.push_back({kernel->kernel, kernel->block});
      own.bytes = std::max(own.bytes, kernel->arguments.size());
    }
    if (like.alone == 0 && std::get<TaskWork>(work_[tasks_[t].mark]).is_unordered) {
      like.is_unordered = own.is_unordered = true;
      std::sort(like.kernels.begin(), like.kernels.end());
      like.kernels.erase(std::unique(like.kernels.begin(), like.kernels.end()), like.kernels.end());
    }
    for (std::size_t other : tasks_[t].behind) own.behind.push_back(group_of_[other]);
    auto [last, is_new] = last_.try_emplace(std::move(like), groups_.size());
    if (!is_new) {
      Group& found = groups_[last->second];
      if (found.has_room_for(own.bytes) && !is_behind(own, last->second)) {
        found.bytes = std::max(found.bytes, own.bytes);
        group_of_[t] = last->second;
        found.tasks.push_back(t);
        put_behind(last->second, own.behind);
        return;
      }
      last->second = groups_.size();
    }
    const std::size_t g = group_of_[t] = groups_.size();
    own.tasks.push_back(t);
    const std::vector<std::size_t> behind = std::exchange(own.behind, {});
    groups_.push_back(std::move(own));
    followers_.emplace_back();
    depths_.push_back(0);
    put_behind(g, behind);
  }

  void put_behind(std::size_t group, const std::vector<std::size_t>& others) {
    std::vector<std::size_t>& behind = groups_[group].behind;
    for (std::size_t other : others) {
      if (std::find(behind.begin(), behind.end(), other) != behind.end()) continue;
      behind.push_back(other);
      followers_[other].push_back(group);
      deepen(group, depths_[other] + 1);
    }
  }
  void deepen(std::size_t group, std::size_t depth) {
    std::vector<std::pair<std::size_t, std::size_t>> open{{group, depth}};
    while (!open.empty()) {
      const auto [g, wanted] = open.back();
      open.pop_back();
      if (depths_[g] >= wanted) continue;
      depths_[g] = wanted;
      for (std::size_t follower : followers_[g]) open.push_back({follower, wanted + 1});
    }
  }

  // What is no deeper than a group is not behind it, and nothing that it is behind.
  bool is_behind(const Group& group, std::size_t wanted) {
    ++round_;
    seen_.resize(groups_.size());
    std::vector<std::size_t> open = group.behind;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (at == wanted) return true;
      if (depths_[at] <= depths_[wanted]) continue;
      if (std::exchange(seen_[at], round_) != round_) open.insert(open.end(), groups_[at].behind.begin(), groups_[at].behind.end());
    }
    return false;
  }

  void set_levels() {
    // From those behind which nobody is, upwards.
    std::vector<std::size_t> left(groups_.size()), from_end(groups_.size()), open;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      left[g] = followers_[g].size();
      if (left[g] == 0) open.push_back(g);
    }
    std::size_t longest = 0;
    while (!open.empty()) {
      const std::size_t g = open.back();
      open.pop_back();
      longest = std::max(longest, from_end[g]);
      for (std::size_t other : groups_[g].behind) {
        from_end[other] = std::max(from_end[other], from_end[g] + 1);
        if (--left[other] == 0) open.push_back(other);
      }
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].level = longest - from_end[g];
  }

  std::span<const Work> work_;
  const std::vector<GraphTask>& tasks_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::size_t>> followers_;  // by group: which are behind it
  std::vector<std::size_t> depths_;                  // by group: how many are before it at least, one behind another
  std::vector<std::size_t> group_of_;                // by task
  std::map<Likeness, std::size_t> last_;             // the group of its like that came last
  std::vector<std::size_t> seen_;                    // by group: in which search
  std::size_t round_ = 0;
};

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

// The k-th product of a group's tasks, once for all.
MatrixProduct product_of(std::span<const Work> work, const std::vector<GraphTask>& tasks, const Group& group, std::size_t k) {
  auto product = [&](std::size_t i) { return std::get<MatrixProduct>(work[tasks[group.tasks[i]].work[k]]); };
  MatrixProduct all = product(0);
  for (std::size_t i = 1; i < group.tasks.size(); ++i) all.others.push_back({product(i).left, product(i).right, product(i).result});
  return all;
}

// Of a group whose work needs no order: by kernel, as many sets of arguments at once as it takes.
std::vector<Launch> unordered_launches(std::span<const Work> work, const std::vector<GraphTask>& tasks, const Group& group) {
  std::map<std::pair<Kernel, unsigned>, std::vector<const KernelWork*>> by_kernel;
  for (std::size_t t : group.tasks)
    for (std::size_t at : tasks[t].work) {
      const auto& kernel = std::get<KernelWork>(work[at]);
      by_kernel[{kernel.kernel, kernel.block}].push_back(&kernel);
    }
  std::vector<Launch> launches;
  for (const auto& [kernel, sets] : by_kernel) {
    const std::size_t at_once = std::min(kInstancesMax, std::bit_floor(kArgumentBytesMax / std::max<std::size_t>(group.bytes, 1)));
    for (std::size_t first = 0; first < sets.size(); first += at_once)
      launches.push_back(
          {{sets.begin() + std::ptrdiff_t(first), sets.begin() + std::ptrdiff_t(std::min(first + at_once, sets.size()))}, {}});
  }
  return launches;
}

// Nothing: it is done task by task.
std::vector<Launch> launches_of(std::span<const Work> work, const std::vector<GraphTask>& tasks, const Group& group) {
  if (group.is_unordered) return unordered_launches(work, tasks, group);
  if (group.tasks.size() == 1 || (group.together > 0 && group.together != group.tasks.size())) return {};
  std::vector<Launch> launches;
  for (std::size_t k = 0; k < tasks[group.tasks[0]].work.size(); ++k) {
    Launch& launch = launches.emplace_back();
    if (std::holds_alternative<MatrixProduct>(work[tasks[group.tasks[0]].work[k]]))
      launch.product = product_of(work, tasks, group, k);
    else
      for (std::size_t t : group.tasks) launch.sets.push_back(&std::get<KernelWork>(work[tasks[t].work[k]]));
  }
  return launches;
}

KernelWork kernel_of(const Launch& launch, Kernel kernel) {
  KernelWork all = *launch.sets[0];
  all.kernel = kernel;
  all.instances = unsigned(launch.sets.size());
  for (std::size_t i = 1; i < launch.sets.size(); ++i) {
    all.grid = std::max(all.grid, launch.sets[i]->grid);
    all.arguments.insert(all.arguments.end(), launch.sets[i]->arguments.begin(), launch.sets[i]->arguments.end());
  }
  all.arguments.resize(all.arguments.size() / all.instances * capacity(all.instances));
  return all;
}

}  // namespace

std::vector<Work> batched(std::span<const Work> work, const Batcher& batcher) {
  const std::vector<GraphTask> tasks = tasks_by_touch(work);
  const std::vector<Group> groups = Grouping(work, tasks).take();
  std::vector<std::vector<Launch>> launches;
  std::vector<std::pair<Kernel, std::size_t>> wanted;
  for (const Group& group : groups)
    for (const Launch& launch : launches.emplace_back(launches_of(work, tasks, group)))
      if (launch.sets.size() > 1) wanted.push_back({launch.sets[0]->kernel, launch.sets.size()});
  if (std::all_of(launches.begin(), launches.end(), [](const auto& list) { return list.empty(); })) return {work.begin(), work.end()};
  const std::vector<Kernel> kernels = wanted.empty() ? std::vector<Kernel>{} : batcher(wanted);
  auto next = kernels.begin();
  std::vector<Work> result;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    std::vector<Work> merged;
    bool are_there = !launches[g].empty();
    for (const Launch& launch : launches[g]) {
      const Kernel kernel = launch.sets.size() > 1 ? *next++ : launch.sets.empty() ? Kernel{} : launch.sets[0]->kernel;
      if (launch.product) {
        merged.push_back(*launch.product);
        continue;
      }
      are_there = are_there && kernel != Kernel{};
      merged.push_back(kernel_of(launch, kernel));
    }
    if (are_there) {
      result.push_back(mark_of(work, tasks, group));
      result.insert(result.end(), merged.begin(), merged.end());
      continue;
    }
    for (std::size_t t : group.tasks) {
      result.push_back(tasks[t].has_mark() ? std::get<TaskWork>(work[tasks[t].mark]) : TaskWork{});
      for (std::size_t at : tasks[t].work) result.push_back(work[at]);
    }
  }
  return result;
}

}  // namespace shardlab::cuda
