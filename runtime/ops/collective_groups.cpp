#include "runtime/ops/collective_groups.h"

#include <fmt/ranges.h>

#include <set>

namespace shardlab::ops {

std::int64_t axes_size(const ManualAxes& manual, const std::vector<std::string>& names) {
  std::int64_t size = 1;
  for (const std::string& name : names) size *= manual.mesh.axis_size(*manual.mesh.axis_index(name));
  return size;
}

std::vector<std::string> bound_axes(const GraphBuilder& b, const OpDef& op, const Attrs& attrs) {
  if (!attrs.has("axis_name")) throw_user_error("{}: it needs axis_name, the mesh axes that it runs over", op.name);
  const AttrValue* value = attrs.find("axis_name");
  const auto* one = std::get_if<std::string>(value);
  std::vector<std::string> names = one != nullptr ? std::vector<std::string>{*one} : attrs.strings("axis_name");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!b.manual() || !b.manual()->is_bound(name))
      throw_user_error("{}: unbound axis name: {}. Collectives stand inside shard_map, over its manual axes{}", op.name, name,
                       b.manual() ? fmt::format(", which are here [{}]", fmt::join(b.manual()->names, ", ")) : "");
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
  std::int64_t size = axes_size(*b.manual(), names);
  Attrs result{{"axis_name", names}};
  if (attrs.has("axis_index_groups")) {
    result.set("axis_index_groups", attrs.integers("axis_index_groups"));
    size = check_groups(op, attrs.integers("axis_index_groups"), size);
  }
  return result.set("axis_size", size);
}

std::int64_t dimension(const OpDef& op, const Attrs& attrs, std::string_view name, std::int64_t rank, std::int64_t otherwise) {
  std::int64_t axis = attrs.integer(name, otherwise);
  if (axis < -rank || axis >= rank)
    throw_user_error("{}: {}: axis {} is out of bounds for array of dimension {}", op.name, name, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace shardlab::ops
