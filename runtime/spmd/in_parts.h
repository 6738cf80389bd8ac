// Replaces ops that would gather a sharded operand by their forms in parts (OpDef::in_parts), between which only small values cross.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// The propagated program with every node in parts that has such a form and is sharded along the factor in question. Shardings of the
// values that were there before, and the function's results, stay as they were propagated. Nothing where there is no such node.
std::optional<Propagation> in_parts(const Propagation& propagation, const PropagationInput& input);

}  // namespace shardlab::spmd
