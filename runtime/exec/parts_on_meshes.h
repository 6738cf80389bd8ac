// Programs on several meshes of the same devices whose axes do not nest: what is computed from values of one mesh alone is planned there.
#pragma once

#include <optional>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// The graph in which per-device code and constraints on such meshes, with all that is computed from what they and parameters there give and
// from constants, are nodes on_mesh of their own, one for each stretch between values of other meshes. What is computed from values of
// several meshes stays on `mesh`, and takes no sharding from them nor gives them any (Shardy propagates within one mesh alone).
// `params`, `results` (one each, or empty): how the graph's lie, where that is known. Nothing where there are no such meshes, or some of
// Explicit axes, and where bodies of loops and branches, or code over some axes of a mesh, speak of one.
std::optional<Graph> with_parts_on_meshes(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& params,
                                          const std::vector<std::optional<Sharding>>& results);

}  // namespace shardlab
