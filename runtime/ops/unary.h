// Elementwise ops of one operand that others speak of, beside the primitives.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

extern const OpDef kRelu, kSquare;

}  // namespace shardlab::ops
