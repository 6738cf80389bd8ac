// The orders in which the search over whole programs decides about nodes.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::spmd {

std::vector<NodeId> program_order(const Graph& graph);

// Each node shortly before its first user: from the results backwards.
std::vector<NodeId> late_order(const Graph& graph);

}  // namespace shardlab::spmd
