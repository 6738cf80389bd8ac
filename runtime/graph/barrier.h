// Nodes that compute nothing: a barrier's results are its operands.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab {

// A primitive with a factor rule but without a kernel, which exchanges nothing and has no body. What is computed from its results is
// computed apart from what is computed from its operands, and may come to lie otherwise than the user's arguments do.
inline bool is_barrier(const OpDef& op) {
  return op.is_primitive() && op.rule != nullptr && op.kernel == nullptr && op.region == RegionKind::kNone && op.collective.empty() &&
         !op.member;
}

}  // namespace shardlab
