// Inspections: nodes without results whose callback is told, while a program is compiled, how a value lies.
//
// They take no part in the program: the planner never sees them. A callback travels with the pointer to the node's literal, a number of its
// own (runtime/graph/carried.h).
#pragma once

#include <functional>

#include "runtime/graph/graph.h"

namespace shardlab {

using InspectCallback = std::function<void(const Sharding&)>;

// The attributes of an inspection with this callback.
Attrs inspection_attrs(InspectCallback callback);
// The callback of a node, or nullptr: it is no inspection.
const InspectCallback* inspection_of(const Node& node);
// In the graph or in any body.
bool has_inspections(const Graph& graph);
// The same graph without them, nor what only they needed.
Graph without_inspections(const Graph& graph);

}  // namespace shardlab
