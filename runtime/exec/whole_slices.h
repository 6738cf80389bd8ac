// A slice at computed places that is as large as what it is cut from: that value, wherever it was to start. What a loop computes from it
// does not change with the places then.
//
// Source: XLA's algebraic simplifier, which comes after shardings are chosen: values keep theirs.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab {

// In bodies, too. A reshape to the same shape stands in its place, since both values keep how they lie.
void replace_whole_slices(spmd::Propagation& propagation);

}  // namespace shardlab
