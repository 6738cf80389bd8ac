// Shorthands for expansions that cut, join, mirror and shift arrays.
#pragma once

#include "runtime/ops/lower.h"

namespace shardlab::ops {

// [start, stop) of one dimension, with every `stride`-th index. The array itself where that is all of it.
ValueId slice_in_dim(GraphBuilder& b, ValueId x, int dim, Interval range, std::int64_t stride = 1);
// One of them is itself.
ValueId joined(GraphBuilder& b, const Values& parts, int dim);
ValueId reversed(GraphBuilder& b, ValueId x, const std::vector<int>& dims);
// Each element `count` times, one after another.
ValueId repeated(GraphBuilder& b, ValueId x, int dim, std::int64_t count);
// Dimensions of size 1 before the others, up to a rank.
ValueId with_rank(GraphBuilder& b, ValueId x, int rank);

// An attribute that is required, as an integer list.
std::vector<std::int64_t> required_list(const OpDef& op, const Attrs& attrs, std::string_view name);

}  // namespace shardlab::ops
