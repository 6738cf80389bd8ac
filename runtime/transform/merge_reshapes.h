// Reshapes of reshapes, as XLA sees them.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with each reshape applied to the value that its operand was reshaped from, and without those that give a value its own shape.
// XLA merges them before it propagates shardings (its AlgebraicSimplifier), so a value that was reshaped there and back keeps its sharding.
Graph with_merged_reshapes(const Graph& graph);

}  // namespace shardlab::transform
