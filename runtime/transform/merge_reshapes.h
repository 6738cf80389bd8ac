// Reshapes of reshapes and transposes of transposes, as XLA sees them.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with each reshape applied to the value that its operand was reshaped from, each transpose to the value that its operand is a
// transpose of, and without those that give a value as it is. A transpose that moves dimensions of size 1 alone is a reshape. XLA does so before
// it propagates shardings (its AlgebraicSimplifier), so a value that was turned or reshaped there and back keeps its sharding, and a
// constraint of what is in between does not reach it.
Graph with_merged_reshapes(const Graph& graph);

}  // namespace shardlab::transform
