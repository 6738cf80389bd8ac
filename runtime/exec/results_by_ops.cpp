#include "runtime/exec/results_by_ops.h"

#include <algorithm>
#include <map>

#include "runtime/graph/builder.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab {
namespace {

class OpByOp {
 public:
  explicit OpByOp(const spmd::PropagationInput& input)
      : graph_(*input.graph),
        mesh_(input.mesh),
        lies_(graph_.values.size()),
        unit_of_(graph_.nodes.size()),
        is_used_apart_(graph_.values.size()) {
    for (std::size_t i = 0; i < graph_.params.size(); ++i) lies_[std::size_t(graph_.params[i])] = input.params[i];
    std::vector<bool> params;
    for (const auto& param : input.params) params.push_back(param.has_value());
    is_placed_ = placed_values(graph_, params);
    std::map<CallRef, std::size_t> unit_of_call;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const CallRef call = outermost(graph_.nodes[n].call);
      unit_of_[n] = call == nullptr ? units_.size() : unit_of_call.try_emplace(call, units_.size()).first->second;
      if (unit_of_[n] == units_.size()) units_.emplace_back();
      units_[unit_of_[n]].nodes.push_back(NodeId(n));
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      for (ValueId id : graph_.nodes[n].operands)
        if (!is_made_in(id, unit_of_[n])) is_used_apart_[std::size_t(id)] = true;
    for (ValueId id : graph_.results) is_used_apart_[std::size_t(id)] = true;
  }

  std::vector<std::optional<Spec>> results() {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) propagate(unit);  // in their order, so that few ask for one another
    std::vector<std::optional<Spec>> found;
    for (ValueId id : graph_.results) found.push_back(lies(id));
    return found;
  }

 private:
  // What runs at once.
  struct Unit {
    std::vector<NodeId> nodes;
    bool is_begun = false;
  };

  bool is_made_in(ValueId id, std::size_t unit) const {
    const NodeId producer = graph_.values[std::size_t(id)].producer;
    return producer >= 0 && unit_of_[std::size_t(producer)] == unit;
  }

  // The node that makes it, where that is what an op does with a smaller operand: each op does it for itself.
  const Node* implicit_broadcast(ValueId id) const {
    const NodeId producer = graph_.values[std::size_t(id)].producer;
    if (producer < 0) return nullptr;
    const Node& node = graph_.nodes[std::size_t(producer)];
    return node.op == &ops::kBroadcastInDim && node.attrs.flag(ops::kImplicit) ? &node : nullptr;
  }

  const std::optional<Spec>& lies(ValueId id) {
    if (const NodeId producer = graph_.values[std::size_t(id)].producer; producer >= 0) propagate(unit_of_[std::size_t(producer)]);
    return lies_[std::size_t(id)];
  }

  // A slice without strides that is no part of a compiled function: outside of jit JAX gives the starts as values, so that one program does
  // for all. Source: _slice_impl in jax/_src/lax/slicing.py.
  const Node* slice_at_values(std::size_t unit) const {
    if (units_[unit].nodes.size() != 1) return nullptr;
    const Node& node = graph_.nodes[std::size_t(units_[unit].nodes[0])];
    const bool is_it = node.op == &ops::kSlice && node.user_op == "slice" && node.call == nullptr && !node.attrs.has("stride");
    return is_it ? &node : nullptr;
  }

  void propagate(std::size_t unit) {
    if (units_[unit].is_begun) return;
    units_[unit].is_begun = true;
    if (const Node* slice = slice_at_values(unit)) {
      const Shape &from = graph_.type(slice->operands[0]).shape, &to = graph_.type(slice->results[0]).shape;
      std::optional<Spec> spec = lies(slice->operands[0]);
      for (std::size_t d = 0; spec && d < to.size(); ++d)
        if (from[d] != to[d]) spec->at(d).clear();
      lies_[std::size_t(slice->results[0])] = std::move(spec);
      return;
    }
    GraphBuilder b(graph_.name);
    transform::Renaming renamed(graph_);
    std::vector<std::optional<Spec>> params;
    std::vector<std::pair<int, ValueId>> given;  // by their place among what a call gives
    std::vector<const Node*> repeated;           // what each op repeats by itself
    for (NodeId n : units_[unit].nodes) {
      const Node& node = graph_.nodes[std::size_t(n)];
      for (ValueId operand : node.operands) {
        if (is_made_in(operand, unit)) continue;
        const Node* repeats = implicit_broadcast(operand);
        const ValueId id = repeats != nullptr ? repeats->operands[0] : operand;
        if (renamed[id] < 0) {
          params.push_back(lies(id));
          renamed[id] = b.param(graph_.type(id));
        }
        if (repeats != nullptr) repeated.push_back(repeats);
      }
      for (ValueId id : node.results)
        if (is_used_apart_[std::size_t(id)] && is_placed_[std::size_t(id)])
          given.emplace_back(node.call_result > 0 ? node.call_result : int(graph_.values.size()), id);
    }
    if (given.empty()) return;
    for (const Node* repeats : repeated)
      if (renamed[repeats->results[0]] < 0) transform::emit_node(b, *repeats, renamed);
    for (NodeId n : units_[unit].nodes) transform::emit_node(b, graph_.nodes[std::size_t(n)], renamed);
    std::stable_sort(given.begin(), given.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
    std::vector<ValueId> results;
    for (const auto& [place, id] : given) results.push_back(renamed[id]);
    b.set_results(results);
    const Graph part = b.finish();
    const spmd::Propagation propagated =
        spmd::propagate({&part, mesh_, std::move(params), std::vector<std::optional<Spec>>(results.size())});
    for (std::size_t i = 0; i < given.size(); ++i) lies_[std::size_t(given[i].second)] = propagated.results[i];
  }

  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<std::optional<Spec>> lies_;  // by value: of what a unit takes or gives
  std::vector<std::size_t> unit_of_;       // by node
  std::vector<bool> is_placed_;            // by value: the others are nobody's, in whatever call
  std::vector<bool> is_used_apart_;        // by value: outside of the unit that makes it
  std::vector<Unit> units_;
};

}  // namespace

std::vector<bool> placed_values(const Graph& graph, const std::vector<bool>& params) {
  std::vector<bool> placed(graph.values.size(), false);
  for (std::size_t i = 0; i < params.size(); ++i) placed[std::size_t(graph.params[i])] = params[i];
  for (const Node& node : graph.nodes) {
    const bool is_placed = node.op->is_constraint || node.op->region == RegionKind::kManual ||
                           std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return placed[std::size_t(id)]; });
    for (ValueId id : node.results) placed[std::size_t(id)] = is_placed;
  }
  return placed;
}

std::vector<std::optional<Spec>> results_by_ops(const spmd::PropagationInput& input) { return OpByOp(input).results(); }

}  // namespace shardlab
