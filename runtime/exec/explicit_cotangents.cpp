#include "runtime/exec/explicit_cotangents.h"

#include <algorithm>

#include "runtime/exec/explicit_node.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/region_types.h"

namespace shardlab {

CotangentTypes::CotangentTypes(const Graph& graph, std::vector<std::optional<Spec>> results)
    : graph_(graph), results_(std::move(results)), users_(graph.values.size()) {
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n)
    for (ValueId id : graph.nodes[std::size_t(n)].operands) users_[std::size_t(id)].push_back(n);
}

std::optional<Spec> CotangentTypes::type_of(ValueId cotangent, const std::function<std::optional<Spec>(ValueId)>& known) const {
  std::set<ValueId> seen;
  return type_of(cotangent, known, seen);
}

std::optional<Spec> CotangentTypes::type_of(ValueId cotangent, const Known& known, std::set<ValueId>& seen) const {
  if (!seen.insert(cotangent).second) return std::nullopt;
  for (NodeId user : users_[std::size_t(cotangent)])
    if (std::optional<Spec> type = told_by(graph_.nodes[std::size_t(user)], cotangent, known, seen)) return type;
  for (std::size_t i = 0; i < results_.size(); ++i)
    if (graph_.results[i] == cotangent && results_[i]) return results_[i];
  return std::nullopt;
}

// By an op for itself: in JAX it is no value.
bool CotangentTypes::is_repeated(ValueId id) const {
  const NodeId producer = graph_.values[std::size_t(id)].producer;
  return producer >= 0 && ops::is_implicit_broadcast(graph_.nodes[std::size_t(producer)]);
}

std::optional<Spec> CotangentTypes::told_by(const Node& user, ValueId cotangent, const Known& known, std::set<ValueId>& seen) const {
  const OpDef& op = *user.op;
  if (&op == &ops::kEnterAutoAxes) return cotangent == user.operands[0] ? known(user.operands[1]) : std::nullopt;
  if (op.is_constraint) {
    const bool is_told = user.attrs.has("sharding") && !user.attrs.has("unconstrained") && !user.attrs.has("reshards");
    return is_told ? std::optional(user.attrs.sharding("sharding").spec(graph_.type(cotangent).rank())) : std::nullopt;
  }
  if (user.results.size() != 1) return std::nullopt;
  if (&op == &ops::kTranspose) {
    const std::optional<Spec> turned = type_of(user.results[0], known, seen);
    if (!turned) return std::nullopt;
    const auto& axes = user.attrs.integers("axes");
    Spec type(axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) type[std::size_t(axes[d])] = (*turned)[d];
    return type;
  }
  if (&op == &ops::kReshape) {
    const std::optional<Spec> type = type_of(user.results[0], known, seen);
    if (!type) return std::nullopt;
    Reshaped reshaped = reshaped_spec(*type, graph_.type(user.results[0]).shape, graph_.type(cotangent).shape);
    return reshaped.is_told ? std::optional(std::move(reshaped.spec)) : std::nullopt;
  }
  if (!op.elementwise) return std::nullopt;
  for (ValueId other : user.operands)
    if (other != cotangent && !is_repeated(other) && graph_.type(other).shape == graph_.type(cotangent).shape)
      if (std::optional<Spec> type = known(other)) return type;
  return type_of(user.results[0], known, seen);
}

}  // namespace shardlab
