#include "runtime/transform/lighten.h"

#include <algorithm>

#include "runtime/graph/barrier.h"
#include "runtime/graph/host_callback.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/fold_integers.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/lighten_rules.h"

namespace shardlab::transform {
namespace {

constexpr LightRule kRules[]{operand_alone,
                             started_where_it_fits,
                             added_where_updated,
                             joined_instead_of_added,
                             padding_alone,
                             filled_throughout,
                             multiplied_before_repeating,
                             without_signs,
                             computed_at_once,
                             scaled_at_once,
                             scaled_together,
                             scaled_before_repeating,
                             multiplied_by_constants_at_once,
                             scaled_before_multiplying,
                             multiplied_turned,
                             chosen_at_once,
                             chosen_by_truth,
                             compared_at_once,
                             held_at_once,
                             reshaped_reduction,
                             reduced_at_once,
                             added_before_reducing,
                             repeated_at_once,
                             sliced_before_repeating,
                             repeated_after,
                             repeated_and_reshaped_after,
                             reduced_before_repeating,
                             reduced_before_joining,
                             reduced_before_reshaping,
                             copied_in_windows,
                             multiplied_in_one_window,
                             with_smaller_window,
                             exchanged_numbers};

std::optional<ValueId> lighter_value(LightEmitter& e, const LightSite& site) {
  if (site.node.results.size() != 1) return std::nullopt;
  for (LightRule rule : kRules)
    if (auto value = rule(e, site)) return e.as(*value, site.node.results[0]);
  return std::nullopt;
}

// A sort and the largest elements along a dimension of size 1: what they have there already.
std::optional<std::vector<ValueId>> of_single_elements(LightEmitter& e, const Node& node, const std::vector<ValueId>& operands) {
  if (node.op != &ops::kSort && node.op != &ops::kTopK) return std::nullopt;
  const Shape& shape = e.type(operands[0]).shape;
  const std::size_t axis = node.op == &ops::kSort ? std::size_t(node.attrs.integer("axis")) : shape.size() - 1;
  if (shape[axis] != 1 || e.type_of_original(node.results[0]).shape != shape) return std::nullopt;
  std::vector<ValueId> results = operands;
  if (node.op == &ops::kTopK) results.push_back(e.filled(e.type_of_original(node.results[1]), 0));
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = e.as(results[i], node.results[i]);
  return results;
}

// What a sort carries along is left out where nobody uses it.
std::optional<std::vector<ValueId>> sorted_for_users(LightEmitter& e, const Node& node, const std::vector<ValueId>& operands) {
  if (node.op != &ops::kSort) return std::nullopt;
  const std::size_t keys = std::size_t(node.attrs.integer("num_keys", 1));
  std::vector<ValueId> used;
  std::vector<LiesAs> lies;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i >= keys && !e.is_used(node.results[i])) continue;
    used.push_back(operands[i]);
    lies.push_back(e.like(node.results[i]));
  }
  if (used.size() == operands.size()) return std::nullopt;
  const std::vector<ValueId> sorted = e.emit_all(*node.op, used, node.attrs, lies);
  std::vector<ValueId> results;
  for (std::size_t i = 0, next = 0; i < operands.size(); ++i)
    results.push_back(i >= keys && !e.is_used(node.results[i]) ? kZero : sorted[next++]);
  return results;
}

// Constants need no barrier.
std::optional<std::vector<ValueId>> constants_without_barrier(LightEmitter& e, const Node& node, const std::vector<ValueId>& operands) {
  if (!is_barrier(*node.op) || operands.size() != node.results.size()) return std::nullopt;
  auto is_constant = [&](ValueId id) { return constant_spread(e.graph(), id) != nullptr; };
  if (std::none_of(operands.begin(), operands.end(), is_constant)) return std::nullopt;
  std::vector<ValueId> kept, results = operands;
  std::vector<LiesAs> lies;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_constant(operands[i])) continue;
    kept.push_back(operands[i]);
    lies.push_back(e.like(node.results[i]));
  }
  const std::vector<ValueId> behind = kept.empty() ? kept : e.emit_all(*node.op, kept, node.attrs, lies);
  for (std::size_t i = 0, next = 0; i < results.size(); ++i)
    if (!is_constant(operands[i])) results[i] = behind[next++];
  return results;
}

// Results without elements, whatever they would be made of.
std::optional<std::vector<ValueId>> without_elements(LightEmitter& e, const Node& node, const std::vector<ValueId>& operands) {
  const OpDef& op = *node.op;
  if (op.constant || op.member || op.is_constraint || op.region != RegionKind::kNone || has_effects(node)) return std::nullopt;
  const bool is_made_of_any = std::any_of(operands.begin(), operands.end(), [&](ValueId id) { return !e.follows_from_constants(id); });
  const bool has_elements =
      std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) { return e.type_of_original(id).elements() > 0; });
  if (!is_made_of_any || has_elements) return std::nullopt;
  std::vector<ValueId> results;
  for (ValueId id : node.results) results.push_back(e.as(e.filled(e.type_of_original(id), 0), id));
  return results;
}

// An operand of whose elements the result needs none, as where a window meets only what lies between them: zeros in its place.
bool without_unneeded(LightEmitter& e, const Node& node, std::vector<ValueId>& operands) {
  if (node.op->needs == nullptr) return false;
  std::vector<TensorType> types, results;
  for (ValueId id : operands) types.push_back(e.type(id));
  for (ValueId id : node.results) results.push_back(e.type_of_original(id));
  const std::vector<NeededBox> needed = node.op->needs(types, results, node.attrs, whole(results[0].shape));
  bool has_changed = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (types[i].elements() == 0 || element_count(needed[i].box) > 0 || constant_spread(e.graph(), operands[i]) != nullptr) continue;
    operands[i] = e.filled(types[i], 0);
    has_changed = true;
  }
  return has_changed;
}

std::optional<LighterGraph> lightened_once(const Graph& graph, const LieAlike& lie_alike) {
  LightEmitter e(graph, lie_alike);
  std::vector<ValueId> renamed(graph.values.size(), kZero);
  bool has_changed = false;
  for (ValueId id : graph.params) renamed[std::size_t(id)] = e.add_param(id);
  for (const Node& node : graph.nodes) {
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(renamed[std::size_t(id)]);
    e.builder().set_place_of(node);
    has_changed |= without_unneeded(e, node, operands);
    if (auto value = lighter_value(e, {node, operands})) {
      renamed[std::size_t(node.results[0])] = *value;
      has_changed = true;
      continue;
    }
    std::optional<std::vector<ValueId>> lighter = of_single_elements(e, node, operands);
    if (!lighter) lighter = sorted_for_users(e, node, operands);
    if (!lighter) lighter = constants_without_barrier(e, node, operands);
    if (!lighter) lighter = without_elements(e, node, operands);
    has_changed |= lighter.has_value();
    const std::vector<ValueId> results = lighter ? *lighter : e.emit_copy(node, operands);
    for (std::size_t i = 0; i < results.size(); ++i) renamed[std::size_t(node.results[i])] = results[i];
  }
  if (!has_changed && !e.has_merged()) return std::nullopt;
  e.builder().set_place({}, "");
  std::vector<ValueId> results;
  for (ValueId id : graph.results) results.push_back(renamed[std::size_t(id)]);
  e.builder().set_results(std::move(results));
  return e.finish(renamed);
}

// How a value of the lighter graph lies, in the words of what that was made of.
LiesAs composed(const LiesAs& lies, const LighterGraph& before) {
  if (lies.value < 0) return lies;
  const LiesAs& original = before.values[std::size_t(lies.value)];
  LiesAs result{original.value, {}};
  if (result.value < 0) return result;
  for (int d : lies.dims) result.dims.push_back(d < 0 ? -1 : original.dims[std::size_t(d)]);
  return result;
}

LighterGraph composed(const LighterGraph& before, LighterGraph after) {
  for (LiesAs& lies : after.values) lies = composed(lies, before);
  std::vector<ValueId> renamed;
  for (ValueId id : before.renamed) renamed.push_back(id < 0 ? -1 : after.renamed[std::size_t(id)]);
  after.renamed = std::move(renamed);
  return after;
}

}  // namespace

// What one pass leaves may be what another rule asks for.
std::optional<LighterGraph> lightened(const Graph& graph, const LieAlike& lie_alike) {
  constexpr int kPassesMax = 4;
  std::optional<LighterGraph> lighter = lightened_once(graph, lie_alike);
  for (int pass = 1; lighter && pass < kPassesMax; ++pass) {
    auto lie_alike_now = [&](const LiesAs& a, const LiesAs& b) {
      const LiesAs left = composed(a, *lighter), right = composed(b, *lighter);
      return a == b || (left.value >= 0 && right.value >= 0 && lie_alike(left, right));
    };
    std::optional<LighterGraph> next = lightened_once(lighter->graph, lie_alike_now);
    if (!next) break;
    lighter = composed(*lighter, std::move(*next));
  }
  return lighter;
}

}  // namespace shardlab::transform
