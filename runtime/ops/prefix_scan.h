// Running combinations by jax.lax.associative_scan's recursion, and their derivative: what JAX differentiates in place of cumprod, cummax
// and cummin.
#pragma once

#include <functional>

#include "runtime/ops/compose.h"
#include "runtime/ops/derive.h"

namespace shardlab::ops {

// The running combinations of arrays of equal length along a dimension, from its end in reverse.
Terms scanned(const Terms& x, int axis, bool reverse, const std::function<Terms(const Terms&, const Terms&)>& combine);

// The running combinations of x along a dimension and their tangents, by a binary op that has a derivative.
struct ScannedTangents {
  ValueId primal, tangent;
};
ScannedTangents scanned_tangents(GraphBuilder& b, const OpDef& combine, ValueId x, ValueId tangent, std::size_t axis, bool reverse);

}  // namespace shardlab::ops
