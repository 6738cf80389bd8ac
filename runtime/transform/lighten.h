// Leaves out of a program the arithmetic that XLA leaves out after it has chosen shardings.
#pragma once

#include <functional>
#include <optional>

#include "runtime/graph/lighter_graph.h"

namespace shardlab::transform {

// What changes nothing is gone (the maximum of a value and itself, x * 1, the absolute value of a square, an update of a whole operand),
// equal nodes are one, and what is computed of repeated elements is computed once and repeated then: elementwise ops and reductions of
// broadcasts. Values of loops' and branches' bodies stay. `lie_alike` says whether two values of the graph lie alike: only then they
// become one. Nothing where there is nothing to leave out.
//
// Source: XLA's algebraic simplifier and common subexpression elimination, by what they do to the compiled modules.
std::optional<LighterGraph> lightened(const Graph& graph, const std::function<bool(ValueId, ValueId)>& lie_alike);
// The same, but nodes stay apart from their equals: for programs with checkpoint, whose backward pass computes values again on purpose.
std::optional<LighterGraph> lightened_apart(const Graph& graph, const std::function<bool(ValueId, ValueId)>& lie_alike);

}  // namespace shardlab::transform
