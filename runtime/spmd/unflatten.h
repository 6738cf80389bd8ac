// What propagation found in a flat graph, told of the graph that it was laid out from and of the bodies in it.
#pragma once

#include "runtime/spmd/flat_graph.h"

namespace shardlab::spmd {

struct FlatValues {
  const FlatGraph& flat;
  const std::vector<ValueSharding>& values;         // by the flat graph's; those that share a sharding have it once
  const std::vector<std::vector<Origin>>& origins;  // the same
};

// Graph (as constraints have redirected it), values, origins and bodies; the results are left to the caller.
Propagation unflattened(Graph graph, const FlatValues& found);

}  // namespace shardlab::spmd
