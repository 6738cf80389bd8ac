// Leaves out what no result needs, within nodes with bodies too.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab {

// As without_dead_nodes(graph); `sources` becomes, per value of what is left, the value that it was.
Graph without_dead_nodes(const Graph& graph, std::vector<ValueId>& sources);

// As without_dead_nodes(); and of scan, cond and shard_map the results that nobody uses, with the operands and the steps of their bodies
// that only these needed. What is carried through a loop is counted anew: for graphs that nobody speaks of to their user any more.
// Source: JAX's dead code elimination (pe.dce_jaxpr), which does not go into while_loop either.
Graph without_dead_parts(const Graph& graph);

}  // namespace shardlab
