// The derivative of a running combination, by jax.lax.associative_scan: what JAX differentiates in place of cumprod, cummax and cummin.
#pragma once

#include "runtime/ops/derive.h"

namespace shardlab::ops {

// The running combinations of x along a dimension and their tangents, by a binary op that has a derivative.
struct ScannedTangents {
  ValueId primal, tangent;
};
ScannedTangents scanned_tangents(GraphBuilder& b, const OpDef& combine, ValueId x, ValueId tangent, std::size_t axis, bool reverse);

}  // namespace shardlab::ops
