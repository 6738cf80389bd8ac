// The passes that sort rows: what sort, top_k and random permutations share.
#pragma once

#include <vector>

#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

struct SortKey {
  int buffer;
  DType dtype;
};
// Rows of `count` elements, neighbours `stride` apart, `stride` rows side by side.
struct SortRows {
  std::int64_t rows, count, stride;
};

enum class RowOrder : bool {
  kSorted,        // as sort has it
  kLargestFirst,  // as top_k has it
};

// Adds the passes; the buffer of the places (int32) of each row in order. Equal ones keep theirs in either order.
int order_passes(Planner& planner, const std::vector<SortKey>& keys, SortRows rows, RowOrder order);

}  // namespace shardlab::cuda
