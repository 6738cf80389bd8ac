// What a loop computes anew in each iteration from values that it does not change is computed once, before the loop, and what it gives back
// of such values it gets as it gives them.
//
// Source: XLA's motion of what is invariant out of loops, which comes after shardings are chosen: values keep theirs.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: there is no such work.
std::optional<Propagation> hoisted(const Propagation& propagation, const Mesh& mesh);

}  // namespace shardlab::spmd
