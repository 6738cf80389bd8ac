#include "runtime/transform/inline.h"

#include <algorithm>

#include "runtime/base/selected.h"
#include "runtime/graph/partition_callback.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/region_types.h"
#include "runtime/ops/unary.h"
#include "runtime/transform/region.h"
#include "runtime/transform/used_params.h"

namespace shardlab::transform {

std::vector<ValueId> Renaming::of(const std::vector<ValueId>& ids) const {
  std::vector<ValueId> result;
  result.reserve(ids.size());
  for (ValueId id : ids) {
    ValueId renamed = (*this)[id];
    SL_CHECK(renamed >= 0, "value {} is used before it is emitted", id);
    result.push_back(renamed);
  }
  return result;
}

static void emit_here(GraphBuilder& b, const Node& node, Renaming& renamed) {
  std::vector<ValueId> results = b.emit(*node.op, renamed.of(node.operands), node.attrs);
  for (std::size_t i = 0; i < results.size(); ++i) renamed[node.results[i]] = results[i];
}

void emit_node(GraphBuilder& b, const Node& node, Renaming& renamed) {
  b.set_place_of(node);
  emit_here(b, node, renamed);
}

std::vector<ValueId> emit_graph(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args) {
  SL_CHECK(args.size() == graph.params.size(), "{} arguments for {} parameters", args.size(), graph.params.size());
  Renaming renamed(graph);
  for (std::size_t i = 0; i < args.size(); ++i) renamed[graph.params[i]] = args[i];
  const CallRef call_around = b.present_call();
  CallCopies calls(call_around);
  const Where around = b.present_where();
  const std::string op_around = b.present_op();
  for (const Node& node : graph.nodes) {
    const bool has_place = node.where.known() || op_around.empty();
    b.set_place_of(node, calls(node.call));
    if (!has_place) b.set_place(around, op_around, calls(node.call));
    emit_here(b, node, renamed);
  }
  b.set_place(op_around.empty() ? Where() : around, op_around, op_around.empty() ? CallRef() : call_around);
  return renamed.of(graph.results);
}

Graph with_results_replaced(const Graph& graph, const std::function<bool(const Node&)>& is_replaced,
                            const std::function<std::vector<ValueId>(GraphBuilder&, const Node&, const Renaming&)>& replacements) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_replaced)) return graph;
  GraphBuilder b(graph.name);
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (const Node& node : graph.nodes) {
    if (!is_replaced(node)) {
      emit_node(b, node, renamed);
      continue;
    }
    b.set_place_of(node);
    const std::vector<ValueId> values = replacements(b, node, renamed);
    for (std::size_t i = 0; i < values.size(); ++i) renamed[node.results[i]] = values[i];
    if (values.size() == 1) b.replace_result(node, values[0]);
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  return without_dead_nodes(b.finish());
}

Graph with_replaced(const Graph& graph, const std::function<bool(const Node&)>& is_replaced,
                    const std::function<ValueId(GraphBuilder&, const Node&, const Renaming&)>& replacement) {
  return with_results_replaced(graph, is_replaced, [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
    return std::vector<ValueId>{replacement(b, node, renamed)};
  });
}

Attrs with_changed_bodies(const Node& node, Graph (*change)(const Graph&)) {
  if (node.op->region == RegionKind::kCall) return node.attrs;
  Bodies bodies;
  for (const GraphRef& body : node.attrs.bodies()) bodies.push_back(std::make_shared<const Graph>(change(*body)));
  Attrs attrs = node.attrs;
  return attrs.set("bodies", bodies);
}

namespace {

// An exchange within groups of one device is none, as in JAX's lowering.
bool is_passed_on(const Node& node) {
  return node.op == &ops::kStopGradient || node.op == &ops::kCheckpointName || node.op == &ops::kPassedAgain ||
         (node.op == &ops::kAllToAll && node.attrs.integer("axis_size") == 1);
}
// A product of its own for derivatives (x * x has two), which XLA knows as any other.
bool is_square(const OpDef* op) { return op == &ops::kSquare; }
bool is_call(const OpDef* op) {
  return op == &ops::kCheckpoint || op == &ops::kCustomJvpCall || op == &ops::kCustomVjpCall || op == &ops::kCustomLinearSolve;
}
// Of types alone, which code over all axes has none of.
bool is_type_mark(const Node& node) {
  return node.op == &ops::kCutAsBatch ||
         (node.op == &ops::kEnterAutoAxes && (node.attrs.flag("if_other") || node.attrs.flag("is_gradient")));
}
bool is_for_transformations(const Graph& graph) {
  bool found = false;
  visit_nodes(graph, [&](const Node& node) {
    found |= is_passed_on(node) || is_call(node.op) || is_square(node.op) || node.op == &ops::kCustomVjpTangents || is_type_mark(node);
  });
  return found;
}

// What is computed again is so from operands behind a barrier, through which shardings go as they do to a loop. Source: the lowering of
// JAX's remat.
std::vector<ValueId> behind_barrier(GraphBuilder& b, const Graph& body, const std::vector<ValueId>& operands) {
  const std::vector<bool> used = used_params(without_dead_nodes(body));
  const std::vector<ValueId> taken = selected(operands, used);
  if (taken.empty()) return operands;
  const std::vector<ValueId> results = b.emit(ops::kOptimizationBarrier, taken);
  std::vector<ValueId> given = operands;
  for (std::size_t i = 0, next = 0; i < given.size(); ++i)
    if (used[i]) given[i] = results[next++];
  return given;
}

// Copies graphs with the bodies of calls where those are called. Per-device code has no barriers.
class Inliner {
 public:
  explicit Inliner(bool propagates) : propagates_(propagates) {}

  Graph copy(const Graph& graph) const {
    if (!is_for_transformations(graph)) return graph;
    Graph live = without_dead_nodes(graph);
    GraphBuilder b(live.name);
    std::vector<ValueId> args;
    for (ValueId id : live.params) args.push_back(b.param(live.type(id)));
    b.set_results(emit(b, live, args, nullptr));
    return without_dead_nodes(b.finish());
  }

 private:
  void enter_code(const Node& code) {
    propagates_ = false;
    has_types_ = leaves_explicit_axes(code, manual_);
    if (!code.attrs.has("axis_names")) return;
    const auto& names = code.attrs.strings("axis_names");
    manual_.insert(manual_.end(), names.begin(), names.end());
  }

  // `calls`: of a body that is copied; null: the graph's own.
  std::vector<ValueId> emit(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, CallCopies* calls) const {
    Renaming renamed(graph);
    for (std::size_t i = 0; i < args.size(); ++i) renamed[graph.params[i]] = args[i];
    for (const Node& node : graph.nodes) {
      std::vector<ValueId> results = emit_node(b, node, renamed.of(node.operands), calls == nullptr ? node.call : (*calls)(node.call));
      for (std::size_t i = 0; i < results.size(); ++i) renamed[node.results[i]] = results[i];
    }
    return renamed.of(graph.results);
  }

  std::vector<ValueId> emit_node(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const CallRef& call) const {
    if (is_passed_on(node)) return operands;
    if (is_square(node.op)) {
      b.set_place_of(node, call);
      return b.emit(ops::kMul, {operands[0], operands[0]});
    }
    if (is_type_mark(node) && !has_types_) return {operands[0]};
    if (is_call(node.op)) {
      const Graph& body = *node.attrs.bodies()[0];
      CallCopies calls(call);
      return emit(b, body, propagates_ && node.attrs.flag("again") ? behind_barrier(b, body, operands) : operands, &calls);
    }
    if (node.op == &ops::kCustomVjpTangents) throw_no_forward_mode(node);
    b.set_place_of(node, call);
    if (node.attrs.bodies().empty()) return b.emit(*node.op, operands, node.attrs);
    Inliner inner = *this;
    if (node.op->region == RegionKind::kManual) inner.enter_code(node);
    Bodies bodies;
    for (const GraphRef& body : node.attrs.bodies()) bodies.push_back(inner.copy_of_body(body));
    Attrs attrs = node.attrs;
    return b.emit(*node.op, operands, attrs.set("bodies", bodies));
  }

  GraphRef copy_of_body(const GraphRef& body) const {
    if (!is_for_transformations(*body)) return body;
    Graph plain = copy(*body);
    const PartitionCallback* callback = partition_of(body);
    return callback != nullptr ? with_partition(std::move(plain), *callback) : std::make_shared<const Graph>(std::move(plain));
  }

  bool propagates_;                  // shardings, through what is copied
  bool has_types_ = true;            // with shardings
  std::vector<std::string> manual_;  // axes of the code around
};

}  // namespace

Graph without_calls(const Graph& graph) { return Inliner(true).copy(graph); }

void throw_no_forward_mode(const Node& node) {
  throw_user_error(
      "can't apply forward-mode differentiation (jvp) to a custom_vjp function.: it has a backward pass alone; use reverse mode (grad, "
      "vjp), or custom_jvp, whose rule serves both [{}]",
      node.where.text());
}

void throw_no_rule(const Node& node, std::string_view what, std::string_view advice) {
  std::string user = node.user_op.empty() || node.user_op == node.op->name ? "" : fmt::format(" (from '{}')", node.user_op);
  throw_user_error("{} for '{}'{} not implemented: {} [{}]", what, node.op->name, user, advice, node.where.text());
}

}  // namespace shardlab::transform
