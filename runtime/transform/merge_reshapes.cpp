#include "runtime/transform/merge_reshapes.h"

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

// Whether the node gives its operand as it is.
bool is_in_vain(const Graph& graph, const Node& node) {
  return (node.op == &ops::kReshape || node.op == &ops::kBroadcastInDim) && graph.type(node.operands[0]) == graph.type(node.results[0]);
}

bool can_be_merged(const Graph& graph, const Node& node) {
  return is_in_vain(graph, node) || (node.op == &ops::kReshape && is_reshape(graph, node.operands[0]));
}

}  // namespace

Graph with_merged_reshapes(const Graph& graph) {
  return with_replaced(
      graph, [&](const Node& node) { return can_be_merged(graph, node); },
      [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
        if (is_in_vain(graph, node)) return renamed[node.operands[0]];
        const ValueId source = source_of(graph, node.operands[0]);
        const bool is_same = graph.type(source) == graph.type(node.results[0]);
        return is_same ? renamed[source] : b.emit1(ops::kReshape, {renamed[source]}, node.attrs);
      });
}

}  // namespace shardlab::transform
