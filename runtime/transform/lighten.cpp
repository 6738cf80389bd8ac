#include "runtime/transform/lighten.h"

#include <array>

#include "runtime/transform/inline.h"
#include "runtime/transform/lighten_rules.h"

namespace shardlab::transform {
namespace {

constexpr std::array<LightRule, 9> kRules{
    operand_alone,  multiplied_before_repeating, without_signs, scaled_at_once, reshaped_reduction, reduced_at_once, repeated_at_once,
    repeated_after, reduced_before_repeating};

std::optional<ValueId> lighter_value(LightEmitter& e, const LightSite& site) {
  if (site.node.results.size() != 1) return std::nullopt;
  for (LightRule rule : kRules)
    if (auto value = rule(e, site)) return e.as(*value, site.node.results[0]);
  return std::nullopt;
}

std::optional<LighterGraph> lightened(const Graph& graph, const std::function<bool(ValueId, ValueId)>& lie_alike, bool merges_equal) {
  LightEmitter e(graph, lie_alike, merges_equal);
  std::vector<ValueId> renamed(graph.values.size(), kZero);
  bool has_changed = false;
  for (ValueId id : graph.params) renamed[std::size_t(id)] = e.add_param(id);
  for (const Node& node : graph.nodes) {
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(renamed[std::size_t(id)]);
    e.builder().set_place(node.where, node.user_op);
    if (auto value = lighter_value(e, {node, operands})) {
      renamed[std::size_t(node.results[0])] = *value;
      has_changed = true;
      continue;
    }
    const std::vector<ValueId> results = e.emit_copy(node, operands);
    for (std::size_t i = 0; i < results.size(); ++i) renamed[std::size_t(node.results[i])] = results[i];
  }
  if (!has_changed && !e.has_merged()) return std::nullopt;
  e.builder().set_place({}, "");
  std::vector<ValueId> results;
  for (ValueId id : graph.results) results.push_back(renamed[std::size_t(id)]);
  e.builder().set_results(std::move(results));
  return e.finish(renamed);
}

}  // namespace

std::optional<LighterGraph> lightened(const Graph& graph, const std::function<bool(ValueId, ValueId)>& lie_alike) {
  return lightened(graph, lie_alike, true);
}
std::optional<LighterGraph> lightened_apart(const Graph& graph, const std::function<bool(ValueId, ValueId)>& lie_alike) {
  return lightened(graph, lie_alike, false);
}

}  // namespace shardlab::transform
