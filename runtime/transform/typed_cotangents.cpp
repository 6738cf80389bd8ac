#include "runtime/transform/typed_cotangents.h"

#include "runtime/ops/calls.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

const Node* producer_of(const Graph& graph, ValueId id) {
  const NodeId producer = graph.values[std::size_t(id)].producer;
  return producer < 0 ? nullptr : &graph.nodes[std::size_t(producer)];
}

// Whether `made` repeats an operand for this node of the same call: in JAX, where sizes of one stay, it is no value.
bool is_repeated_for(const Node& node, const Node& made) {
  return made.op == &ops::kBroadcastInDim && (ops::is_implicit_broadcast(made) || made.user_op == node.user_op);
}

// What the transpose makes has the type that it is told.
bool is_told(const Node& node) { return node.op == &ops::kDotGeneral || node.op == &ops::kConv || node.op == &ops::kReduceSum; }

// What the transpose makes has the type of what else the op takes, and is moved then.
bool is_moved(const Node& node) {
  return ops::is_implicit_broadcast(node) ||
         (node.operands.size() > 1 && node.op->elementwise && node.op != &ops::kSelect && node.op != &ops::kEnterAutoAxes);
}

}  // namespace

bool is_typed_as_itself(const Node& node) {
  return node.op == &ops::kEnterAutoAxes && node.attrs.flag("if_other") && node.operands[0] == node.operands[1];
}

Graph with_typed_cotangents(const Graph& graph) {
  Graph marked = with_replaced(
      graph, [](const Node& node) { return is_told(node) || is_moved(node); },
      [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
        Attrs attrs{{"if_other", true}};
        if (is_told(node)) attrs.set("is_gradient", true);
        std::vector<ValueId> operands;
        for (ValueId id : node.operands) {
          const Node* made = producer_of(graph, id);
          const bool is_value = graph.type(id).rank() > 0 && (made == nullptr || !is_repeated_for(node, *made));
          operands.push_back(is_value ? b.emit1(ops::kEnterAutoAxes, {renamed[id], renamed[id]}, attrs) : renamed[id]);
        }
        return b.emit1(*node.op, operands, node.attrs);
      });
  for (Node& node : marked.nodes)
    if (const RegionKind kind = node.op->region; kind == RegionKind::kWhile || kind == RegionKind::kScan || kind == RegionKind::kBranch)
      node.attrs = with_changed_bodies(node, with_typed_cotangents);
  return marked;
}

}  // namespace shardlab::transform
