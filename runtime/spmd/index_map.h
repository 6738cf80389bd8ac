// Index maps: which windows of its operands an op needs for the parts of its result, position by position.
#pragma once

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

// Per operand and position the window that the op needs there for `results`, its results' boxes by position.
std::vector<std::vector<Box>> windows_for(const Graph& graph, const Node& node, const std::vector<Box>& results);

// The factors of a reduction that all its operands hold, each as a dimension of its own (a convolution's input features). Devices may take
// parts of them beside what the index map says, and get partial results: the op goes over what its operands' boxes have in common of them.
std::vector<int> contracted_factors(const FactorRule& rule);

// What is left of windows where each position goes over a part of the contracted factors, in their order, alone.
void narrow_to_parts(std::vector<std::vector<Box>>& windows, const FactorRule& rule, const std::vector<Box>& parts);

// Whether each element of the result is one of an operand's or none (slice, pad, concatenate), where windows and running sums combine
// many. Read off the first, the middle and the last element.
bool only_rearranges(const Graph& graph, const Node& node);

// Windows of a value that exists.
struct Demand {
  ValueId value = -1;  // a root
  std::vector<Box> windows;
  bool operator==(const Demand&) const = default;
};
// Of the values that windows of a value are made of: itself, or through composed values those at the bottom, always as many and in one
// order, some with windows of no elements.
std::vector<Demand> demands_of(const Problem& problem, ValueId value, const std::vector<Box>& windows);
// How many those are.
std::size_t demand_count(const Problem& problem, ValueId value);

// Ways to compute a node with an index map: one for every even spec of its result, and for the one it is left in; of a reduction also
// those with partial results along what is contracted, where some operand is had in windows. Operands that a spec describes get it, the
// others windows.
std::vector<Candidate> index_map_ways(Problem& problem, NodeId node);

}  // namespace shardlab::spmd
