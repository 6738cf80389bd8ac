// Loops without what they carry in vain: values that nothing needs, and values that stay what they were.
//
// Source: XLA's simplification of loops, which comes after shardings are chosen: values keep theirs.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: no loop carries such values.
std::optional<Propagation> with_slim_loops(const Propagation& propagation);

}  // namespace shardlab::spmd
