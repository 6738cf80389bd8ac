#include "runtime/transform/held_operands.h"

#include "runtime/graph/partition_callback.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

bool holds_operands(const Node& node) {
  if (node.op->region != RegionKind::kManual || node.operands.empty()) return false;
  const Mesh& mesh = node.attrs.shardings("in_specs")[0].mesh();
  return !node.attrs.has("axis_names") || int(node.attrs.strings("axis_names").size()) == mesh.axis_count();
}

bool has_code(const Graph& graph) {
  bool has_any = false;
  visit_nodes(graph, [&](const Node& node) { has_any |= holds_operands(node); });
  return has_any;
}

// A body whose partition its user writes stays the one that the callback is of.
GraphRef held_body(const GraphRef& body) {
  if (partition_of(body) != nullptr || !has_code(*body)) return body;
  return std::make_shared<const Graph>(with_held_operands(*body));
}

}  // namespace

Graph with_held_operands(const Graph& graph) {
  if (!has_code(graph)) return graph;
  GraphBuilder b(graph.name);
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (Node node : graph.nodes) {
    if (!node.attrs.bodies().empty()) {
      Bodies bodies;
      for (const GraphRef& body : node.attrs.bodies()) bodies.push_back(held_body(body));
      node.attrs.set("bodies", bodies);
    }
    b.set_place_of(node);
    std::vector<ValueId> operands = renamed.of(node.operands);
    if (holds_operands(node))
      for (std::size_t i = 0; i < operands.size(); ++i)
        operands[i] = b.emit1(ops::kShardingConstraint, {operands[i]},
                              Attrs{{"sharding", node.attrs.shardings("in_specs")[i]}, {"of_operand", true}});
    const std::vector<ValueId> results = b.emit(*node.op, operands, node.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) renamed[node.results[i]] = results[i];
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  return b.finish();
}

}  // namespace shardlab::transform
