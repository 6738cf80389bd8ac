// Which values of a computation on Explicit axes are of its mesh. Types of host data, and of arrays that are not committed, have no mesh in
// JAX: what vmap repeats of those for every element is not cut along the batch.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab {

// What puts values on the mesh that no operand brings there.
enum class MeshSource : std::uint8_t {
  kOperands,   // no context mesh: nothing
  kTracedOps,  // a context mesh, inside jit: ops whose type starts with it, which are elementwise ones, broadcasts and constants
  kEagerOps,   // a context mesh, outside jit: every op, as its result lies there
};

// Per value of the graph; `params`: per parameter.
std::vector<bool> values_on_mesh(const Graph& graph, const std::vector<bool>& params, MeshSource source);

}  // namespace shardlab
