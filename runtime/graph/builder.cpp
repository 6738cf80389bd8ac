#include "runtime/graph/builder.h"

#include <algorithm>
#include <optional>

#include "runtime/base/at_place.h"
#include "runtime/graph/unjitted.h"

namespace shardlab {

std::optional<std::int64_t> BoundAxes::size_of(std::string_view name) const {
  for (auto axis = batches.rbegin(); axis != batches.rend(); ++axis)
    if (axis->name == name) return axis->size;
  if (std::find(manual.begin(), manual.end(), name) == manual.end()) return std::nullopt;
  return mesh.axis_size(*mesh.axis_index(name));
}

bool BoundAxes::is_batch(std::string_view name) const {
  return std::any_of(batches.begin(), batches.end(), [&](const BatchAxis& axis) { return axis.name == name; });
}

std::vector<std::string> BoundAxes::names() const {
  std::vector<std::string> all = manual;
  for (const BatchAxis& axis : batches) all.push_back(axis.name);
  return all;
}

ValueId GraphBuilder::param(const TensorType& type) {
  ValueId id = ValueId(graph_.values.size());
  graph_.values.push_back({type, -1, int(graph_.params.size())});
  graph_.params.push_back(id);
  return id;
}

std::vector<ValueId> GraphBuilder::emit(const OpDef& op, const std::vector<ValueId>& operands, Attrs attrs) {
  SL_CHECK(op.is_primitive(), "{} is emitted but has no shape rule", op.name);
  std::vector<TensorType> types = op.infer(op, graph_.types(operands), attrs);
  NodeId node = NodeId(graph_.nodes.size());
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back(ValueId(graph_.values.size()));
    graph_.values.push_back({types[i], node, int(i)});
  }
  graph_.nodes.push_back(
      {&op, operands, results, std::move(attrs), where_, user_op_.empty() ? std::string(op.name) : user_op_, call_, call_result_});
  return results;
}

void GraphBuilder::order_results(const std::vector<ValueId>& results) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const NodeId producer = graph_.values[std::size_t(results[i])].producer; producer >= 0)
      graph_.nodes[std::size_t(producer)].call_result = int(i) + 1;
}

void GraphBuilder::replace_result(const Node& node, ValueId value) {
  const NodeId producer = value < 0 ? -1 : graph_.values[std::size_t(value)].producer;
  if (node.call_result == 0 || producer < 0) return;
  Node& made = graph_.nodes[std::size_t(producer)];
  if (made.call == node.call && made.call_result == 0) made.call_result = node.call_result;
}

ValueId GraphBuilder::emit1(const OpDef& op, const std::vector<ValueId>& operands, Attrs attrs) {
  return emit(op, operands, std::move(attrs)).at(0);
}

Attrs GraphBuilder::canonical_dtypes(const OpDef& op, const Attrs& attrs) {
  Attrs result = attrs;
  for (const auto& [name, value] : attrs.entries()) {
    const DType* asked = std::get_if<DType>(&value);
    if (asked == nullptr) continue;
    DType given = canonical(*asked, config_.enable_x64);
    if (given == *asked) continue;
    warnings_.push_back(
        fmt::format("Explicitly requested dtype {} requested in {} is not available, and will be truncated to dtype {}. To enable more "
                    "dtypes, set the config flag enable_x64 or the environment variable SHARDLAB_ENABLE_X64=1.{}",
                    name_of(*asked), op.name, name_of(given), where_.known() ? fmt::format(" [{}]", where_.text()) : ""));
    result.set(name, given);
  }
  return result;
}

std::vector<ValueId> GraphBuilder::call(const OpDef& op, std::span<const Arg> args, const Attrs& attrs, Where where) {
  int count = int(args.size());
  if (count < op.operands_min || (op.operands_max >= 0 && count > op.operands_max))
    throw_user_error("{} at {}: got {} operands, wanted {}", op.name, where.text(), count,
                     op.operands_min == op.operands_max ? fmt::format("{}", op.operands_min)
                                                        : fmt::format("{} to {}", op.operands_min, op.operands_max));
  SL_CHECK(op.expand != nullptr, "{} has no expansion", op.name);
  std::optional<OpenCall> open;
  const bool is_users = ops_are_calls_ && user_op_.empty() && open_call_ == nullptr;
  const bool is_call = op.compiled_alone || (is_users && !is_unjitted(op.name));
  if (is_call) open.emplace(*this);
  if (!user_op_.empty()) return op.expand(*this, op, args, attrs);
  where_ = where;
  user_op_ = op.name;
  try {
    std::vector<ValueId> results = at_place(where, [&] { return op.expand(*this, op, args, canonical_dtypes(op, attrs)); });
    if (is_call && results.size() > 1) order_results(results);
    user_op_.clear();
    return results;
  } catch (...) {
    user_op_.clear();
    throw;
  }
}

}  // namespace shardlab
