// Steps of per-device code that compute the same from the same.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with equal nodes of the bodies of shard_map merged into the first of them, so that a sum over devices that is written twice is
// communicated once, as XLA does (its HloCSE). Nodes outside of such bodies stay as they are: there each has a sharding of its own.
Graph with_equal_merged(const Graph& graph);

}  // namespace shardlab::transform
