// In which forms ops want their operands, each computed by itself; and which operands of elementwise ops are gathered for others.
#pragma once

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

// Whether each operand of an elementwise op that is cut finer than its result is gathered anyway: another op, computed by itself from the
// forms in which propagation leaves its tensors, asks for it in no finer parts than the result has. XLA computes the op on what was
// gathered then; else it gathers what comes out.
bool is_gathered_for_others(Problem& problem, NodeId elementwise);

// XLA computes these where their results lie, others of one form where their operands do.
inline bool is_unary(const Node& node) { return node.op->elementwise && node.operands.size() == 1; }

// Whether one of these gives larger elements than it takes (a truth as a float): gathered before it, they are fewer bytes.
bool widens(const Problem& problem, const Node& unary);

// Whether another unary elementwise op takes the operand, and one of the two results needs no more of it than the other, which moves it:
// both are computed of what is gathered once.
bool is_gathered_with_others(Problem& problem, NodeId unary);

// The forms of a value in which some op that uses it, computed by itself, would move the fewest elements of all else.
std::vector<Spec> welcome_forms(Problem& problem, ValueId value);

}  // namespace shardlab::spmd
