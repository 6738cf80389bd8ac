#include "runtime/transform/fold_integers.h"

#include <algorithm>
#include <array>

#include "runtime/ops/lower.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

struct Fold {
  const OpDef* op;
  std::optional<std::int64_t> of_equals = {};  // what it is of two equal operands
  std::optional<std::int64_t> absorbing = {};  // the operand that it is itself then
  bool is_comparison = false;
};

const std::array<Fold, 11>& folds() {
  static const std::array<Fold, 11> kFolds{{{.op = &ops::kSub, .of_equals = 0},
                                            {.op = &ops::kXor, .of_equals = 0},
                                            {.op = &ops::kLess, .of_equals = 0, .is_comparison = true},
                                            {.op = &ops::kGreater, .of_equals = 0, .is_comparison = true},
                                            {.op = &ops::kNotEqual, .of_equals = 0, .is_comparison = true},
                                            {.op = &ops::kLessEqual, .of_equals = 1, .is_comparison = true},
                                            {.op = &ops::kGreaterEqual, .of_equals = 1, .is_comparison = true},
                                            {.op = &ops::kEqual, .of_equals = 1, .is_comparison = true},
                                            {.op = &ops::kMul, .absorbing = 0},
                                            {.op = &ops::kAnd, .absorbing = 0},
                                            {.op = &ops::kOr, .absorbing = -1}}};
  return kFolds;
}

auto find_fold(const Node& node) {
  return std::find_if(folds().begin(), folds().end(), [&](const Fold& each) { return each.op == node.op; });
}

bool may_fold(const Graph& graph, const Node& node) {
  return find_fold(node) != folds().end() && !is_inexact(graph.type(node.operands[0]).dtype);
}

// What the node is on these operands, whatever else they are.
std::optional<ValueId> folded(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands) {
  const Fold& fold = *find_fold(node);
  if (fold.of_equals && operands[0] == operands[1]) {
    const DType dtype = fold.is_comparison ? DType::kBool : b.type(operands[0]).dtype;
    return ops::filled(b, {dtype, b.shape(operands[0])}, Scalar{*fold.of_equals});
  }
  if (fold.absorbing)
    for (ValueId id : operands)
      if (is_filled_with(b.graph(), id, *fold.absorbing)) return id;
  return std::nullopt;
}

}  // namespace

const Literal* constant_spread(const Graph& graph, ValueId id) {
  const NodeId producer = graph.values[std::size_t(id)].producer;
  if (producer < 0) return nullptr;
  const Node& node = graph.nodes[std::size_t(producer)];
  if (node.op == &ops::kBroadcastInDim || node.op == &ops::kReshape || node.op == &ops::kTranspose)
    return constant_spread(graph, node.operands[0]);
  return node.op == &ops::kConstant ? &node.attrs.literal("value") : nullptr;
}

bool is_filled_with(const Graph& graph, ValueId id, std::int64_t number) {
  const Literal* literal = constant_spread(graph, id);
  return literal != nullptr && visit_dtype(literal->type.dtype, [&]<typename T>(T) {
           if constexpr (std::is_integral_v<T>) {
             const T* elements = literal->data->as<T>();
             return std::all_of(elements, elements + literal->type.elements(), [&](T element) { return element == T(number); });
           }
           return false;
         });
}

Graph with_folded_integers(const Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return may_fold(graph, node); })) return graph;
  GraphBuilder b(graph.name);
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (const Node& node : graph.nodes) {
    b.set_place_of(node);
    if (auto value = may_fold(graph, node) ? folded(b, node, renamed.of(node.operands)) : std::nullopt)
      renamed[node.results[0]] = *value;
    else
      emit_node(b, node, renamed);
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  return without_dead_nodes(b.finish());
}

}  // namespace shardlab::transform
