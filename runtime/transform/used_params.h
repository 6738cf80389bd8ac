// Parameters that a graph needs.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// Per parameter, whether a node or a result takes it. Of a graph without dead nodes: whether something is computed from it.
std::vector<bool> used_params(const Graph& graph);

// The graph with those parameters alone; nothing takes the others.
Graph with_params(const Graph& graph, const std::vector<bool>& kept);

}  // namespace shardlab::transform
