// Index maps: which windows of its operands an op needs for the parts of its result, position by position.
#pragma once

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

// Per operand and position the window that the op needs there for `results`, its results' boxes by position.
std::vector<std::vector<Box>> windows_for(const Graph& graph, const Node& node, const std::vector<Box>& results);

// Windows of a value that exists: through composed values down to it.
struct Demand {
  ValueId value = -1;  // a root
  std::vector<Box> windows;
};
Demand demand_of(const Problem& problem, ValueId value, std::vector<Box> windows);

// Ways to compute a node with an index map: one for every even spec of its result, and for the one it is left in. Operands that a spec
// describes get it, the others windows.
std::vector<Candidate> index_map_ways(Problem& problem, NodeId node);

}  // namespace shardlab::spmd
