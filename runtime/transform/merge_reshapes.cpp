#include "runtime/transform/merge_reshapes.h"

#include <algorithm>
#include <vector>

#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

const Node* producer(const Graph& graph, ValueId id) {
  const Value& value = graph.values[std::size_t(id)];
  return value.producer < 0 ? nullptr : &graph.nodes[std::size_t(value.producer)];
}

// Whether the dimensions of more than one element keep their order.
bool moves_single_elements(const Graph& graph, const Node& transpose) {
  const Shape& from = graph.type(transpose.operands[0]).shape;
  std::int64_t last = -1;
  for (std::int64_t axis : transpose.attrs.integers("axes")) {
    if (from[std::size_t(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool is_reshape(const Graph& graph, const Node& node) {
  return node.op == &ops::kReshape || (node.op == &ops::kTranspose && moves_single_elements(graph, node));
}
bool is_transpose(const Graph& graph, const Node& node) { return node.op == &ops::kTranspose && !moves_single_elements(graph, node); }

// What the value was before it was reshaped, or turned, once or several times.
using IsKind = bool (*)(const Graph&, const Node&);
ValueId source_of(const Graph& graph, ValueId id, IsKind is_kind) {
  for (const Node* node = producer(graph, id); node != nullptr && is_kind(graph, *node); node = producer(graph, id)) id = node->operands[0];
  return id;
}

// The axes of the one transpose that turns the source into the node's result.
std::vector<std::int64_t> axes_from_source(const Graph& graph, const Node& node) {
  std::vector<std::int64_t> axes = node.attrs.integers("axes");
  for (const Node* before = producer(graph, node.operands[0]); before != nullptr && is_transpose(graph, *before);
       before = producer(graph, before->operands[0])) {
    const std::vector<std::int64_t>& inner = before->attrs.integers("axes");
    for (std::int64_t& axis : axes) axis = inner[std::size_t(axis)];
  }
  return axes;
}

// Whether the node gives its operand as it is.
bool is_in_vain(const Graph& graph, const Node& node) {
  return (is_reshape(graph, node) || node.op == &ops::kBroadcastInDim) && graph.type(node.operands[0]) == graph.type(node.results[0]);
}

// By value: the node that reads it, if there is one alone; and whether it is constrained.
struct Readers {
  std::vector<const Node*> only;
  std::vector<bool> is_constrained;
  explicit Readers(const Graph& graph) : only(graph.values.size(), nullptr), is_constrained(graph.values.size(), false) {
    std::vector<int> counts(graph.values.size(), 0);
    for (const Node& node : graph.nodes)
      for (ValueId operand : node.operands) {
        only[std::size_t(operand)] = ++counts[std::size_t(operand)] == 1 ? &node : nullptr;
        if (node.op == &ops::kShardingConstraint) is_constrained[std::size_t(operand)] = true;
      }
    for (ValueId result : graph.results) only[std::size_t(result)] = nullptr;
  }
};

// A broadcast leaves out the dimensions of one element that grow. XLA's has a broadcast to the same shape before that, which keeps the
// reshape from being merged: a constraint of what is broadcast reaches it.
bool is_of_constrained_broadcast(const Node& node, const Readers& readers) {
  if (!readers.is_constrained[std::size_t(node.operands[0])]) return false;
  const Node* reader = readers.only[std::size_t(node.results[0])];
  return reader != nullptr && reader->op == &ops::kBroadcastInDim && reader->user_op == node.user_op &&
         reader->where.text() == node.where.text();
}

bool can_be_merged(const Graph& graph, const Node& node, const Readers& readers) {
  if (node.op == &ops::kReshape && is_of_constrained_broadcast(node, readers)) return false;
  const Node* before = node.operands.empty() ? nullptr : producer(graph, node.operands[0]);
  return is_in_vain(graph, node) || (node.op == &ops::kTranspose && is_reshape(graph, node)) ||
         (before != nullptr &&
          ((is_reshape(graph, node) && is_reshape(graph, *before)) || (is_transpose(graph, node) && is_transpose(graph, *before))));
}

}  // namespace

Graph with_merged_reshapes(const Graph& graph) {
  const Readers readers(graph);
  return with_replaced(
      graph, [&](const Node& node) { return can_be_merged(graph, node, readers); },
      [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
        if (is_in_vain(graph, node)) return renamed[node.operands[0]];
        const bool is_turned = is_transpose(graph, node);
        const ValueId source = source_of(graph, node.operands[0], is_turned ? is_transpose : is_reshape);
        if (is_turned) {
          const std::vector<std::int64_t> axes = axes_from_source(graph, node);
          return std::is_sorted(axes.begin(), axes.end()) ? renamed[source]
                                                          : b.emit1(ops::kTranspose, {renamed[source]}, Attrs{{"axes", axes}});
        }
        const TensorType& type = graph.type(node.results[0]);
        return graph.type(source) == type ? renamed[source] : b.emit1(ops::kReshape, {renamed[source]}, Attrs{{"shape", type.shape}});
      });
}

}  // namespace shardlab::transform
