// What is known of calls when their bodies stand where they were called.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// Its operands, from which something is computed again (runtime/graph/barrier.h).
extern const OpDef kOptimizationBarrier;

}  // namespace shardlab::ops
