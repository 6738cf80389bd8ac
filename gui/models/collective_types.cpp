#include "gui/models/collective_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/schema.h"

namespace shardlab::gui {
namespace {

std::vector<std::pair<int, int>> pairs_of(const traces::CollectiveShape& what) {
  std::vector<std::pair<int, int>> pairs;
  if (what.pairs.empty()) return pairs;
  for (const auto& pair : traces::parse_int_lists(what.pairs))
    if (pair.size() == 2) pairs.emplace_back(pair[0], pair[1]);
  return pairs;
}

}  // namespace

std::shared_ptr<const DeviceGroups> CollectiveTypes::groups_of(const traces::CollectiveShape& what) {
  auto& groups = groups_[fmt::format("{}|{}", what.groups, what.pairs)];
  if (groups) return groups;
  DeviceGroups made{.devices = traces::devices_of(what)};
  if (!what.groups.empty()) made.lists = traces::parse_int_lists(what.groups);
  if (made.lists.empty() && !made.devices.empty()) made.lists = {made.devices};
  return groups = std::make_shared<const DeviceGroups>(std::move(made));
}

std::shared_ptr<const CollectiveType> CollectiveTypes::make(const traces::CollectiveShape& what, std::size_t site_count) {
  const auto axes = what.axes.empty() ? std::vector<std::string>{} : traces::parse_text_list(what.axes);
  return std::make_shared<const CollectiveType>(
      CollectiveType{.kind = std::string(what.kind),
                     .op = std::string(what.op),
                     .dtype = std::string(what.dtype),
                     .shape = std::string(what.shape),
                     .reduction = std::string(what.reduction),
                     .axes = fmt::format("{}", fmt::join(axes, ", ")),
                     .cause = std::string(what.cause),
                     .sharding_before = std::string(what.sharding_before),
                     .sharding_after = std::string(what.sharding_after),
                     .pairs = pairs_of(what),
                     .bytes = what.bytes,
                     .wire_bytes = what.wire_bytes,
                     .site = what.site > 0 && std::size_t(what.site) < site_count ? int(what.site) : -1,
                     .groups = groups_of(what)});
}

std::shared_ptr<const CollectiveType> CollectiveTypes::of(const traces::CollectiveRow& row, std::size_t site_count) {
  auto& type = types_[{row.program, row.call, row.what.site}];
  if (!type || row.program == 0) type = make(row.what, site_count);
  return type;
}

void CollectiveTypes::forget_from(traces::Id program) {
  std::erase_if(types_, [&](const auto& each) { return std::get<0>(each.first) >= program; });
}

}  // namespace shardlab::gui
