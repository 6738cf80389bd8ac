// Nodes that make the same of the same, and whose results lie alike, are one.
//
// Source: XLA's elimination of common subexpressions, after what is invariant has left loops.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

Propagation with_alike_merged(const Propagation& propagation);

}  // namespace shardlab::spmd
