// A scan that stacks one value of its constants, the same in each turn, only for scans over that stack: these take the value itself, as a
// constant. Gradients have such pairs where a turn's slice of a constant is all of it, which is seen after derivatives are taken; what is
// known to be constant before never comes into stacks (runtime/transform/scan_invariants.h).
//
// XLA stacks the copies. Values keep their shardings.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: there are no such stacks.
std::optional<Propagation> without_repeated_stacks(const Propagation& propagation);

}  // namespace shardlab::spmd
