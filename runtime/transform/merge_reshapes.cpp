#include "runtime/transform/merge_reshapes.h"

#include <algorithm>

#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

bool is_reshape(const Graph& graph, ValueId id) {
  const Value& value = graph.values[std::size_t(id)];
  return value.producer >= 0 && graph.nodes[std::size_t(value.producer)].op == &ops::kReshape;
}

// What the value was before it was reshaped, once or several times.
ValueId source_of(const Graph& graph, ValueId id) {
  while (is_reshape(graph, id)) id = graph.nodes[std::size_t(graph.values[std::size_t(id)].producer)].operands[0];
  return id;
}

bool can_be_merged(const Graph& graph, const Node& node) {
  return node.op == &ops::kReshape && (is_reshape(graph, node.operands[0]) || graph.type(node.operands[0]) == graph.type(node.results[0]));
}

}  // namespace

Graph with_merged_reshapes(const Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return can_be_merged(graph, node); })) return graph;
  GraphBuilder b(graph.name);
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (const Node& node : graph.nodes) {
    if (!can_be_merged(graph, node)) {
      emit_node(b, node, renamed);
      continue;
    }
    ValueId source = source_of(graph, node.operands[0]);
    b.set_place(node.where, node.user_op);
    renamed[node.results[0]] =
        graph.type(source) == graph.type(node.results[0]) ? renamed[source] : b.emit1(ops::kReshape, {renamed[source]}, node.attrs);
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  return without_dead_nodes(b.finish());
}

}  // namespace shardlab::transform
