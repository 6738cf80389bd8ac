// What checkpoint's policy keeps of each turn of a loop, and of the branch that is taken.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// A graph whose scans and branches give more results, after their own: the values that a policy keeps in their bodies, of scans stacked.
// And the bodies that take those, after all else, in place of computing them.
struct SavedInBodies {
  Graph graph;
  struct Taking {
    std::size_t own_results = 0;
    Bodies bodies;
  };
  std::map<NodeId, Taking> nodes;  // of the graph
};
// The node that computes the rest again.
Node with_taken(const Node& node, const SavedInBodies::Taking& taking);
// `unknown`: which parameters are; what depends on them is not kept. `saves`: whether the policy keeps what a node computes.
SavedInBodies save_in_bodies(const Graph& graph, const std::vector<bool>& unknown, const std::function<bool(const Node&)>& saves);

}  // namespace shardlab::transform
