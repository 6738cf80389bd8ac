// The arithmetic of a partitioned program.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

// Reshapes, slices, broadcasts, constants, collectives that combine nothing and their like: no element of a result is made of more than
// one. A running sum or a window is.
bool only_moves_data(const Graph& graph, const Node& node);

// Whether windows slide over the operands (pools and their gradients).
bool slides_windows(const Node& node);
// Whether it only reads at computed places (gather): what a device finds there is moved, or masked for a sum over devices.
bool reads_at_places(const Node& node);
// Their number times what each sees. They are as many as the first operand or the result has elements, whichever has fewer.
std::int64_t elements_in_windows(const Node& node, std::int64_t of_operand, std::int64_t of_result);

// Per value whether it follows from constants, the device's place in the mesh and known parameters alone: it is known before the program
// runs.
std::vector<bool> known_values(const Graph& graph, const std::vector<bool>& known_params);

// Whether an op computes more than an elementwise step or a reduction does with each element: products, convolutions, sorts, transforms.
bool is_heavy(const Graph& graph, const Node& node);

// Of the busiest device: the elements of the iteration spaces of the ops that compute, with reduced and contracted dimensions multiplied
// in; of sorts, transforms and decompositions their elements, of a scatter its updates. Bodies count once an iteration, of branches the
// largest, of a while loop one iteration. What follows from constants alone does not count.
std::int64_t work_per_device(const PartitionedProgram& program);
// The same device's by the names of the ops.
std::map<std::string_view, std::int64_t> work_by_op(const PartitionedProgram& program);
// Of a program that has not got its graph yet: all, and of heavy ops alone.
std::int64_t work_per_device(const Graph& graph, const PartitionedProgram& program);
std::int64_t heavy_work_per_device(const Graph& graph, const PartitionedProgram& program);

}  // namespace shardlab::spmd
