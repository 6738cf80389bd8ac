// A graph's derivative at given arguments, as a linear graph of its own.
#pragma once

#include "runtime/transform/jvp.h"

namespace shardlab::transform {

struct Linearized {
  std::vector<ValueId> results;    // of the graph, in the builder
  std::vector<ValueId> residuals;  // values in the builder that the linear graph needs
  // Parameters: the tangents of the active parameters, then the residuals. Results: the tangents that are not zero.
  Graph linear;
  std::vector<int> tangent_of;  // per result its place among the linear graph's results, or -1: zero
};

// Emits what does not depend on tangents into `b`; the rest is the linear graph.
Linearized linearize(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, const std::vector<bool>& active);

}  // namespace shardlab::transform
