// Joins, as XLA sees them: what its AlgebraicSimplifier does before shardings are propagated.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with each slice of a concatenation taken from the parts that it touches: from one of them alone wherever it lies within it,
// from several where nothing else uses the concatenation. So a slice lies as its part does, however the other parts lie.
Graph with_slices_of_parts(const Graph& graph);

// The graph with each concatenation that is used by another one alone, along the same dimension, taken apart there. So parts that lie
// otherwise from each other meet all at once.
Graph with_flat_joins(const Graph& graph);

}  // namespace shardlab::transform
