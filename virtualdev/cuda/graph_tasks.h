// What a graph's work comes behind: tasks, which say what they read and write (TaskWork), and the order between them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::cuda {

// As many products of a graph are done at once: each works in a room of its own.
inline constexpr int kProductRoomsMax = 8;

struct GraphTask {
  std::vector<std::size_t> work;    // in order: places in the graph's work
  std::vector<std::size_t> behind;  // tasks before it, which must be done; those behind which they are come before of themselves
  int product_room = 0;             // of its products
};

// In the order in which they are issued. Transforms work in one room, so each is behind the one before.
std::vector<GraphTask> tasks_of(std::span<const Work> work);
// Those behind which no other is.
std::vector<std::size_t> last_of(std::span<const GraphTask> tasks);

}  // namespace shardlab::cuda
