// What calls of a user's ask of their operands' types, before they become primitives.
#pragma once

#include <vector>

#include "runtime/exec/operand.h"
#include "runtime/graph/op_def.h"

namespace shardlab {

// UserError with JAX's text where `op` takes no operand that is cut as one of these is by Explicit axes and its result's sharding is not
// asked for, though the primitives that it becomes would take it. Source: jax/_src/numpy.
void check_typed_call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where);

}  // namespace shardlab
