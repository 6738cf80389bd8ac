#include "runtime/transform/typed_cotangents.h"

#include <functional>

#include "runtime/graph/unjitted.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/region.h"

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

// Whether the bodies of a node are typed: those of loops and branches, and code that leaves Explicit axes to types.
bool has_types(const Node& node) {
  const RegionKind kind = node.op->region;
  return kind == RegionKind::kWhile || kind == RegionKind::kScan || kind == RegionKind::kBranch ||
         (kind == RegionKind::kManual && leaves_explicit_axes(node));
}

// The graph with the operands of some nodes marked, in the bodies that are typed by `of_body`.
Graph with_marks(const Graph& graph, const std::function<bool(const Node&)>& has_marks,
                 const std::function<bool(const Node&, ValueId)>& is_marked, const std::function<Attrs(const Node&)>& attrs_of,
                 Graph (*of_body)(const Graph&)) {
  Graph marked = with_results_replaced(graph, has_marks, [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
    const Attrs attrs = attrs_of(node);
    std::vector<ValueId> operands;
    for (ValueId id : node.operands)
      operands.push_back(graph.type(id).rank() > 0 && is_marked(node, id) ? b.emit1(ops::kEnterAutoAxes, {renamed[id], renamed[id]}, attrs)
                                                                          : renamed[id]);
    return b.emit(*node.op, operands, node.attrs);
  });
  for (Node& node : marked.nodes)
    if (has_types(node)) node.attrs = with_changed_bodies(node, of_body);
  return marked;
}

}  // namespace

bool is_typed_as_itself(const Node& node) {
  return node.op == &ops::kEnterAutoAxes && node.attrs.flag("if_other") && node.operands[0] == node.operands[1];
}

Graph with_typed_cotangents(const Graph& graph) {
  return with_marks(
      graph, [](const Node& node) { return is_told(node) || is_moved(node); },
      [&](const Node& node, ValueId id) {
        const Node* made = producer_of(graph, id);
        return made == nullptr || !is_repeated_for(node, *made);
      },
      [](const Node& node) {
        Attrs attrs{{"if_other", true}};
        return is_told(node) ? attrs.set("is_gradient", true) : attrs;
      },
      with_typed_cotangents);
}

Graph with_typed_tangents(const Graph& graph) {
  return with_marks(
      graph, [](const Node& node) { return is_traced_apart(node.user_op) || is_inlined(node.user_op); },
      [&](const Node& node, ValueId id) {
        const Node* made = producer_of(graph, id);
        return made == nullptr || made->user_op != node.user_op || made->call != node.call;
      },
      [](const Node&) {
        return Attrs{{"if_other", true}, {"taken_as", true}};
      },
      with_typed_tangents);
}

}  // namespace shardlab::transform
