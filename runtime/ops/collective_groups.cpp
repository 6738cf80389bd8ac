#include "runtime/ops/collective_groups.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace shardlab::ops {

std::int64_t axes_size(const BoundAxes& bound, const std::vector<std::string>& names) {
  std::int64_t size = 1;
  for (const std::string& name : names) size *= bound.size_of(name).value();
  return size;
}

std::vector<std::string> bound_axes(const GraphBuilder& b, const OpDef& op, const Attrs& attrs) {
  if (!attrs.has("axis_name")) throw_user_error("{}: it needs axis_name, the mesh axes that it runs over", op.name);
  const AttrValue* value = attrs.find("axis_name");
  const auto* one = std::get_if<std::string>(value);
  std::vector<std::string> names = one != nullptr ? std::vector<std::string>{*one} : attrs.strings("axis_name");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!b.bound() || !b.bound()->size_of(name))
      throw_user_error(
          "{0}: Found an unbound axis name: {1}. To fix this, please call {0} under `jax.shard_map` (here `shard_map`), over one of its "
          "manual axes, or under a `vmap` whose axis_name it is; {2}",
          op.name, name, b.bound() ? fmt::format("bound here: [{}]", fmt::join(b.bound()->names(), ", ")) : "no axis is bound here");
    if (!seen.insert(name).second) throw_user_error("{}: axis '{}' is named twice", op.name, name);
  }
  return names;
}

namespace {

// Lists of ranks, each stored after its length. Equal sizes, each rank once.
std::int64_t check_groups(const OpDef& op, const std::vector<std::int64_t>& groups, std::int64_t size) {
  std::int64_t group_size = groups.empty() ? 0 : groups[0];
  std::set<std::int64_t> ranks;
  for (std::size_t i = 0; i < groups.size(); i += std::size_t(groups[i]) + 1) {
    if (groups[i] != group_size || groups[i] == 0) throw_user_error("{}: axis_index_groups must all be the same size", op.name);
    for (std::int64_t k = 1; k <= groups[i]; ++k) {
      std::int64_t rank = groups[i + std::size_t(k)];
      if (rank < 0 || rank >= size || !ranks.insert(rank).second)
        throw_user_error("{}: axis_index_groups must cover all indices exactly once, got {} for an axis of size {}", op.name, rank, size);
    }
  }
  if (std::int64_t(ranks.size()) != size)
    throw_user_error("{}: axis_index_groups must cover all indices exactly once, got {} of {}", op.name, ranks.size(), size);
  return group_size;
}

}  // namespace

Attrs group_attrs(const GraphBuilder& b, const OpDef& op, const Attrs& attrs) {
  std::vector<std::string> names = bound_axes(b, op, attrs);
  std::int64_t size = axes_size(*b.bound(), names);
  Attrs result{{"axis_name", names}};
  if (attrs.has("axis_index_groups")) {
    result.set("axis_index_groups", attrs.integers("axis_index_groups"));
    size = check_groups(op, attrs.integers("axis_index_groups"), size);
  }
  return result.set("axis_size", size);
}

namespace {

Attrs group_along(const GraphBuilder& b, const std::vector<std::string>& names) {
  return Attrs{{"axis_name", names}, {"axis_size", axes_size(*b.bound(), names)}};
}

bool is_batch(const GraphBuilder& b, const std::string& name) { return b.bound()->is_batch(name); }

std::vector<Attrs> runs_of(const GraphBuilder& b, const OpDef& op, const Attrs& attrs, const std::vector<std::string>& names) {
  if (std::none_of(names.begin(), names.end(), [&](const std::string& name) { return is_batch(b, name); }))
    return {group_attrs(b, op, attrs)};
  if (attrs.has("axis_index_groups"))
    throw_user_error("{}: axis_index_groups not supported in vmap collectives: name a further axis, of a vmap of its own, for the groups",
                     op.name);
  std::vector<std::vector<std::string>> runs;
  for (const std::string& name : names) {
    const bool goes_on = !runs.empty() && !is_batch(b, name) && !is_batch(b, runs.back()[0]);
    if (!goes_on) runs.emplace_back();
    runs.back().push_back(name);
  }
  std::vector<Attrs> groups;
  for (const auto& run : runs) groups.push_back(group_along(b, run));
  return groups;
}

}  // namespace

std::vector<Attrs> group_runs(const GraphBuilder& b, const OpDef& op, const Attrs& attrs) {
  return runs_of(b, op, attrs, bound_axes(b, op, attrs));
}

std::vector<Attrs> groups_in_any_order(const GraphBuilder& b, const OpDef& op, const Attrs& attrs) {
  std::vector<std::string> names = bound_axes(b, op, attrs);
  // The innermost vmap first: what is summed over several of them is summed at once (collective_batch.cpp).
  auto depth = [&](const std::string& name) {
    const auto& batches = b.bound()->batches;
    const auto found = std::find_if(batches.rbegin(), batches.rend(), [&](const BatchAxis& axis) { return axis.name == name; });
    return found - batches.rbegin();
  };
  std::stable_sort(names.begin(), names.end(), [&](const std::string& x, const std::string& y) { return depth(x) < depth(y); });
  return runs_of(b, op, attrs, names);
}

FactorRule rule_along(const std::vector<TensorType>& operands, const std::vector<TensorType>& results,
                      const std::vector<int>& result_dims) {
  FactorRule rule(operands, results);
  std::vector<bool> covered(results[0].shape.size(), false);
  for (int d = 0; d < operands[0].rank(); ++d) {
    int to = result_dims[std::size_t(d)];
    bool passes = to >= 0 && operands[0].shape[std::size_t(d)] == results[0].shape[std::size_t(to)];
    rule.add(operands[0].shape[std::size_t(d)], {d}, {passes ? to : -1}, passes ? FactorKind::kPass : FactorKind::kReplicate);
    if (passes) covered[std::size_t(to)] = true;
  }
  for (int d = 0; d < results[0].rank(); ++d)
    if (!covered[std::size_t(d)]) rule.add(results[0].shape[std::size_t(d)], {-1}, {d}, FactorKind::kReplicate);
  return rule;
}

std::int64_t dimension(const OpDef& op, const Attrs& attrs, std::string_view name, std::int64_t rank, std::int64_t otherwise) {
  std::int64_t axis = attrs.integer(name, otherwise);
  if (axis < -rank || axis >= rank)
    throw_user_error("{}: {}: axis {} is out of bounds for array of dimension {}", op.name, name, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace shardlab::ops
