// Replaces ops that would gather a sharded operand by their forms in parts (OpDef::in_parts), between which only small values cross.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Which nodes: all, or those that have a sharded operand of more elements than their result. What is a sum over that operand gains by its
// parts (the gradient by a convolution's kernel); where the operand is small (the kernel of the convolution itself), it may be gathered.
enum class PartedNodes : std::uint8_t { kAll, kOfLargeOperands };

// The propagated program with every such node in parts that has such a form and is sharded along the factor in question. Shardings of the
// values that were there before, and the function's results, stay as they were propagated. Nothing where there is no such node.
std::optional<Propagation> in_parts(const Propagation& propagation, const PropagationInput& input, PartedNodes nodes);

// Whether both choices of nodes differ.
bool parted_nodes_matter(const Propagation& propagation);

}  // namespace shardlab::spmd
