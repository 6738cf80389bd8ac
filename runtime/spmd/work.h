// The arithmetic of a partitioned program.
#pragma once

#include <cstdint>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

// Reshapes, slices, broadcasts, constants and their like: no element of a result is made of more than one. A running sum or a window is.
bool only_moves_data(const Graph& graph, const Node& node);

// Of the busiest device: the elements of the iteration spaces of the ops that compute, with reduced and contracted dimensions multiplied
// in, of ops that compute. Bodies count once an iteration, of branches the largest, of a while loop
// one iteration.
std::int64_t work_per_device(const PartitionedProgram& program);

}  // namespace shardlab::spmd
