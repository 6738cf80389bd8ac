// What per-device code takes is held as its in_specs say.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph that is partitioned: in front of code that is per device along all axes, each operand behind a constraint to its in_spec, in
// bodies too. Code that leaves axes automatic says itself how its operands lie. After all transformations: a derivative's code has in_specs
// of its own, and a constraint would be transposed and batched apart from the code.
Graph with_held_operands(const Graph& graph);

}  // namespace shardlab::transform
