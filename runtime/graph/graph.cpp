#include "runtime/graph/graph.h"

#include <algorithm>

namespace shardlab {

std::vector<TensorType> Graph::types(const std::vector<ValueId>& ids) const {
  std::vector<TensorType> types;
  types.reserve(ids.size());
  for (ValueId id : ids) types.push_back(values[id].type);
  return types;
}

void visit_nodes(const Graph& graph, const std::function<void(const Node&)>& visit) {
  for (const Node& node : graph.nodes) {
    for (const GraphRef& body : node.attrs.bodies()) visit_nodes(*body, visit);
    visit(node);
  }
}

Graph without_dead_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false), live(graph.nodes.size(), false);
  for (ValueId id : graph.results) needed[id] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    // A node without results is there for what it does.
    live[n] = node.results.empty() || std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) { return needed[id]; });
    if (live[n])
      for (ValueId id : node.operands) needed[id] = true;
  }
  Graph result;
  result.name = graph.name;
  std::vector<ValueId> renamed(graph.values.size(), -1);
  auto copy_value = [&](ValueId id, NodeId producer) {
    renamed[id] = ValueId(result.values.size());
    result.values.push_back({graph.values[id].type, producer, graph.values[id].result_index});
    return renamed[id];
  };
  for (ValueId id : graph.params) result.params.push_back(copy_value(id, -1));
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    Node node = graph.nodes[n];
    for (ValueId& id : node.operands) id = renamed[id];
    for (ValueId& id : node.results) id = copy_value(id, NodeId(result.nodes.size()));
    result.nodes.push_back(std::move(node));
  }
  for (ValueId id : graph.results) result.results.push_back(renamed[id]);
  return result;
}

}  // namespace shardlab
