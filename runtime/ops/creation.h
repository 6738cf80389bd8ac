// Ops that fill an array like another one.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// zeros_like, ones_like, full_like and their aliases: operand 0 says shape and dtype, nothing of the result is computed from it.
bool fills_like_operand(const OpDef& op);

}  // namespace shardlab::ops
