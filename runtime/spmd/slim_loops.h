// Loops without what they carry in vain, values that nothing needs and values that stay what they were, no branches that all give back
// the same operands, and none that are given one value twice.
//
// Source: XLA's simplification of loops and conditionals, which comes after shardings are chosen: values keep theirs.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: there are no such loops and branches.
std::optional<Propagation> with_slim_loops(const Propagation& propagation);

}  // namespace shardlab::spmd
