// What expansions with an `axis` attribute share.
#pragma once

#include "runtime/ops/lower.h"

namespace shardlab::ops {

// The attribute "axis" as sorted dimensions; all of them where it is absent.
std::vector<int> reduced_axes(const GraphBuilder& b, const OpDef& op, ValueId x, const Attrs& attrs);
// The shape with the axes' sizes 1.
Shape kept_shape(const Shape& shape, const std::vector<int>& axes);
// A reduction, followed by a reshape where the axes are kept.
ValueId reduced(GraphBuilder& b, const OpDef& reduction, ValueId x, const std::vector<int>& axes, bool keepdims);
// How many elements become one.
std::int64_t reduced_count(const GraphBuilder& b, ValueId x, const std::vector<int>& axes);

}  // namespace shardlab::ops
