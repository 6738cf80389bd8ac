#include "runtime/transform/used_params.h"

#include <algorithm>

#include "runtime/transform/inline.h"

namespace shardlab::transform {

std::vector<bool> used_params(const Graph& graph) {
  std::vector<bool> taken(graph.values.size(), false), used;
  for (ValueId id : graph.results) taken[std::size_t(id)] = true;
  for (const Node& node : graph.nodes)
    for (ValueId id : node.operands) taken[std::size_t(id)] = true;
  for (ValueId id : graph.params) used.push_back(taken[std::size_t(id)]);
  return used;
}

Graph with_params(const Graph& graph, const std::vector<bool>& kept) {
  if (std::find(kept.begin(), kept.end(), false) == kept.end()) return graph;
  GraphBuilder b(graph.name);
  Renaming renamed(graph);
  for (std::size_t i = 0; i < graph.params.size(); ++i)
    if (kept[i]) renamed[graph.params[i]] = b.param(graph.type(graph.params[i]));
  for (const Node& node : graph.nodes) emit_node(b, node, renamed);
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  return b.finish();
}

}  // namespace shardlab::transform
