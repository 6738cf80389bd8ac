// What XLA makes simpler before it propagates shardings.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph after the passes of XLA's that decide how values lie, or what is moved for them: reshapes of reshapes, joins of joins, updates
// of whole arrays, what is sorted along for nobody and equal steps of per-device code; of a user's jitted function also slices of joins and
// integers that are constants (by itself an op takes its scalars as arguments).
Graph simplified(const Graph& graph, bool is_jitted);

}  // namespace shardlab::transform
