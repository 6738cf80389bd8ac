// The largest elements along a dimension, for expansions.
#pragma once

#include "runtime/graph/builder.h"
#include "runtime/ops/primitives.h"

namespace shardlab::ops {

// An attribute of top_k: results may be cut as rows are, as the first of what is sorted are.
inline constexpr const char* kOfSorted = "of_sorted";

// top_k's results, which lie along `axis`; `attrs`: the primitive's.
Values largest_along(GraphBuilder& b, ValueId x, int axis, const Attrs& attrs);

}  // namespace shardlab::ops
