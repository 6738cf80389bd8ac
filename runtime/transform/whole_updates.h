// Updates and slices of whole arrays, as XLA sees them.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with the update itself in place of each dynamic_update_slice that replaces a whole array from index 0 on, and the operand of
// each slice that takes all of it. StableHLO folds these before shardings are propagated: what is replaced does not say how its
// replacement lies. (Other starts of updates are constants that it does not look at, though the box is moved to lie within the array.)
Graph without_whole_updates(const Graph& graph);

}  // namespace shardlab::transform
