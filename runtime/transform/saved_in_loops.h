// What checkpoint's policy keeps of each turn of a loop.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// A graph whose scans give more results, after their own: stacks of the values that a policy keeps in their bodies. And the bodies that
// take those, scanned over after all else, in place of computing them.
struct SavedInLoops {
  Graph graph;
  struct Loop {
    std::size_t own_results = 0;
    GraphRef taking;
  };
  std::map<NodeId, Loop> loops;  // by node of the graph
};
// The loop that computes the rest again.
Node with_taken(const Node& node, const SavedInLoops::Loop& loop);
// `unknown`: which parameters are; what depends on them is not kept. `saves`: whether the policy keeps what a node computes.
SavedInLoops save_in_loops(const Graph& graph, const std::vector<bool>& unknown, const std::function<bool(const Node&)>& saves);

}  // namespace shardlab::transform
