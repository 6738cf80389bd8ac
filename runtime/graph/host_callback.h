// Host callbacks: nodes that call a function of the user's with the values of their operands, while a program runs.
//
// The function travels with the pointer to the node's literal (runtime/graph/carried.h), whose numbers are the same in every process that
// runs the same program.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab {

// Operands' values to results' values, on the host.
using HostCallback = std::function<std::vector<Literal>(const std::vector<Literal>&)>;

// The attributes of a callback that a user gives at `where`. `which` tells callbacks of one line apart that do not do the same.
Attrs callback_attrs(HostCallback callback, Where where, std::uint64_t which);
// The callback of a node, or nullptr.
const HostCallback* callback_of(const Node& node);
// In the graph or in any body.
bool has_callbacks(const Graph& graph);
// Whether the node is there for what it does, too, and not for its results alone: by itself, or by what is in its bodies.
bool has_effects(const Node& node);

}  // namespace shardlab
