// What a graph's work comes behind: tasks, which say what they read and write (TaskWork), and the order between them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::cuda {

// As many products of a graph are done at once: each works in a room of its own.
inline constexpr int kProductRoomsMax = 8;

struct GraphTask {
  std::vector<std::size_t> work;       // in order: places in the graph's work
  std::vector<std::size_t> behind;     // tasks before it, which must be done; those behind which they are come before of themselves
  int product_room = 0;                // of its products
  std::size_t mark = ~std::size_t(0);  // the place of the TaskWork that began it; none: it is behind all, and before all behind it
  bool has_mark() const { return mark != ~std::size_t(0); }
};

// In the order in which they are issued. Transforms work in one room, so each is behind the one before. Where no several devices have
// the same to do, but what is one launch then (batched()), each is behind the one before: to go from one path of a graph to another costs a
// GPU more than that wins; small kernels that the next larger one can be done without are behind each other, beside that line. So do
// products of several devices that are no one call, where others are: those of one moment are beside each other, and all else is in order.
std::vector<GraphTask> tasks_of(std::span<const Work> work);
// The same, each behind those alone whose work it must come behind.
std::vector<GraphTask> tasks_by_touch(std::span<const Work> work);
// Kernels for several sets of arguments, as many as wanted or more, each as a kernel is for one; 0 where there is none.
using Batcher = std::function<std::vector<Kernel>(const std::vector<std::pair<Kernel, std::size_t>>&)>;
// The same work with one launch for the kernels of tasks that do the same, on several devices as a rule, and may be done at once, and one
// call for products that are to be together.
std::vector<Work> batched(std::span<const Work> work, const Batcher& batcher);

// Those behind which no other is.
std::vector<std::size_t> last_of(std::span<const GraphTask> tasks);

}  // namespace shardlab::cuda
