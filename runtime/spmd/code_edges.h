// Propagation through the edges of per-device code over some axes of the mesh.
#pragma once

#include "runtime/spmd/flat_graph.h"

namespace shardlab::spmd {

// Both sides of one edge take each other's pieces. Around the code, where the value has shape `around`, it is cut by the code's axes first;
// inside, where it has shape `within`, by none of them. Source: Shardy's manual computations.
void link_sides(const FlatGraph::CodeEdge& edge, ValueSharding& outer, const Shape& around, ValueSharding& inner, const Shape& within);

}  // namespace shardlab::spmd
