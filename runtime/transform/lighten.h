// Leaves out of a program the arithmetic that XLA leaves out after it has chosen shardings.
#pragma once

#include <optional>

#include "runtime/graph/lighter_graph.h"

namespace shardlab::transform {

// What changes nothing is gone (the maximum of a value and itself, x * 1, the absolute value of a square, an update of a whole operand, a
// sort of single elements), arithmetic with two numbers is done with one, equal nodes are one (what checkpoint computes again stays: it is
// computed of other values, those behind a barrier), and what is computed of repeated elements is
// computed once and repeated then: elementwise ops, and reductions of broadcasts and of joins of equal parts. Values of loops' and
// branches' bodies stay. `lie_alike` speaks of values of the graph: only what lies alike becomes one. Nothing where there is nothing to
// leave out.
//
// Source: XLA's algebraic simplifier and common subexpression elimination, by what they do to the compiled modules.
std::optional<LighterGraph> lightened(const Graph& graph, const LieAlike& lie_alike);

}  // namespace shardlab::transform
