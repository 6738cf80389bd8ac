// Which operands of elementwise ops are gathered for other ops.
#pragma once

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

// Whether each operand of an elementwise op that is cut finer than its result is gathered anyway: another op, computed by itself from the
// forms in which propagation leaves its tensors, asks for it in no finer parts than the result has. XLA computes the op on what was
// gathered then; else it gathers what comes out.
bool is_gathered_for_others(Problem& problem, NodeId elementwise);

}  // namespace shardlab::spmd
