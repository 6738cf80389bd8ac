// Arithmetic of integers that is the same whatever its operand is, as XLA sees it.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph with constants in place of x - x, x ^ x, comparisons of x with itself, x * 0, x & 0 and x | -1 of integers and bools. XLA folds
// them before it propagates shardings (its canonicalizer), so that such a result lies as constants do, and not as x.
Graph with_folded_integers(const Graph& graph);

// The constant that a value repeats, reshapes or transposes, through any number of these; nullptr where it is something else.
const Literal* constant_spread(const Graph& graph, ValueId id);
// Whether the value is a constant whose every element is that integer, as it is or broadcast.
bool is_filled_with(const Graph& graph, ValueId id, std::int64_t number);

}  // namespace shardlab::transform
