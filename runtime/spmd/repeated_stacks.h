// A scan that stacks one value of its constants, the same in each turn, only for scans over that stack: these take the value itself, as a
// constant. Gradients have such pairs where a loop carries what it never changes.
//
// XLA stacks the copies; what JAX knows to be constant before shardings are chosen it keeps out of stacks, too (its partial evaluation of
// scans). Values keep their shardings.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: there are no such stacks.
std::optional<Propagation> without_repeated_stacks(const Propagation& propagation);

}  // namespace shardlab::spmd
