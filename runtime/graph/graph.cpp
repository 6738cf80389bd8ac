#include "runtime/graph/graph.h"

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

}  // namespace shardlab
