#include "runtime/transform/split.h"

#include <algorithm>

#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/region.h"

namespace shardlab::transform {

void Split::run() {
  for (const Node& node : source_.nodes) {
    bool depends = std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return varies(id); });
    if (!depends) {
      emit_node(b_, node, known_);
    } else if (has_bodies(node)) {
      with_place(b_, node, [&] { cut_region(node); });
    } else {
      linear_nodes_.push_back(&node);
      for (ValueId id : node.results) varies_[std::size_t(id)] = true;
    }
  }
  b_.set_place({}, "");
}

// A value of the source that stands for one of the builder.
ValueId Split::new_known(ValueId value) {
  ValueId id = ValueId(source_.values.size());
  source_.values.push_back({b_.type(value), -1, 0});
  known_.grow(1);
  linear_.grow(1);
  varies_.push_back(false);
  known_[id] = value;
  return id;
}

void Split::cut_region(const Node& node) {
  std::vector<ValueId> known;
  for (ValueId id : node.operands) known.push_back(varies(id) ? kZero : known_[id]);
  RegionSplit cut = split_region(b_, node, known);
  for (std::size_t i = 0; i < node.results.size(); ++i)
    if (cut.known_results[i] != kZero) known_[node.results[i]] = cut.known_results[i];
  if (cut.results.empty()) return;
  Node rest{cut.op, {}, {}, std::move(cut.attrs), node.where, node.user_op, node.call, node.call_result};
  for (const auto& operand : cut.operands)
    rest.operands.push_back(operand.operand >= 0 ? node.operands[std::size_t(operand.operand)] : new_known(operand.residual));
  for (int result : cut.results) {
    rest.results.push_back(node.results[std::size_t(result)]);
    varies_[std::size_t(rest.results.back())] = true;
  }
  made_.push_back(std::move(rest));
  linear_nodes_.push_back(&made_.back());
}

// A residual, but for single numbers and what repeats them, which each half has of its own, as in JAX. Of what was repeated for an op that
// is what was repeated.
ValueId Split::needed_of_known(ValueId id, std::vector<ValueId>& residuals) {
  const ValueId known = known_[id];
  if (const ValueId number = number_again(known); number != kZero) return number;
  const NodeId producer = b_.graph().values[std::size_t(known)].producer;
  if (producer < 0 || !ops::is_implicit_broadcast(b_.graph().nodes[std::size_t(producer)])) return saved(known, residuals);
  const Node& repeats = b_.graph().nodes[std::size_t(producer)];
  return rest_.emit1(*repeats.op, {saved(repeats.operands[0], residuals)}, repeats.attrs);
}

ValueId Split::saved(ValueId known, std::vector<ValueId>& residuals) {
  const auto [found, is_new] = saved_.try_emplace(known, kZero);
  if (is_new) {
    residuals.push_back(known);
    found->second = rest_.param(b_.type(known));
  }
  return found->second;
}

// A number of the builder, or one in other shapes, in the linear graph; kZero of other values.
ValueId Split::number_again(ValueId id) {
  const Graph& known = b_.graph();
  const Value& value = known.values[std::size_t(id)];
  if (value.producer < 0) return kZero;
  const Node& node = known.nodes[std::size_t(value.producer)];
  if (node.op == &ops::kConstant) return value.type.rank() == 0 ? rest_.emit1(ops::kConstant, {}, node.attrs) : kZero;
  if (node.op != &ops::kReshape && node.op != &ops::kBroadcastInDim) return kZero;
  const ValueId operand = number_again(node.operands[0]);
  return operand == kZero ? kZero : rest_.emit1(*node.op, {operand}, node.attrs);
}

Linearized Split::finish(const std::vector<ValueId>& results, const std::vector<ValueId>& tangents) {
  Linearized out;
  out.results = known_.of(results);
  for (const Node* node : needed(tangents)) {
    rest_.set_place_of(*node);
    for (ValueId id : node->operands)
      if (!varies(id) && linear_[id] == kZero) linear_[id] = needed_of_known(id, out.residuals);
    emit_node(rest_, *node, linear_);
  }
  std::vector<ValueId> linear_results;
  for (ValueId id : tangents) {
    if (id == kZero) {
      out.tangent_of.push_back(-1);
      continue;
    }
    // A tangent may not depend on the parameters' tangents: a rule made zeros.
    if (linear_[id] == kZero) linear_[id] = needed_of_known(id, out.residuals);
    out.tangent_of.push_back(int(linear_results.size()));
    linear_results.push_back(linear_[id]);
  }
  rest_.set_results(std::move(linear_results));
  out.linear = rest_.finish();
  return out;
}

std::vector<const Node*> Split::needed(const std::vector<ValueId>& tangents) const {
  std::vector<bool> wanted(source_.values.size(), false);
  for (ValueId id : tangents)
    if (id != kZero) wanted[std::size_t(id)] = true;
  std::vector<const Node*> nodes;
  for (auto node = linear_nodes_.rbegin(); node != linear_nodes_.rend(); ++node) {
    const auto& results = (*node)->results;
    if (std::none_of(results.begin(), results.end(), [&](ValueId id) { return wanted[std::size_t(id)]; })) continue;
    for (ValueId id : (*node)->operands) wanted[std::size_t(id)] = true;
    nodes.push_back(*node);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace shardlab::transform
