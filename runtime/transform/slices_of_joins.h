// Slices of joined arrays, as XLA sees them.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with each slice of a concatenation taken from the parts that it touches: from one of them alone wherever it lies within it,
// from several where nothing else uses the concatenation. XLA does so before it propagates shardings (its AlgebraicSimplifier), so a slice
// lies as its part does, however the other parts lie.
Graph with_slices_of_parts(const Graph& graph);

}  // namespace shardlab::transform
