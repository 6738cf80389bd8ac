#include "gui/models/lane_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardlab::gui {
namespace {

LaneGrouping by_process(const TraceData& trace) {
  LaneGrouping grouping{.title = "process"};
  for (const auto& lane : trace.lanes) grouping.group_of.push_back(lane.process);
  return grouping;
}

LaneGrouping by_host(const TraceData& trace) {
  LaneGrouping grouping{.title = "host"};
  for (const auto& lane : trace.lanes) {
    const Process* process = trace.process(lane.process);
    const std::string host = process && !process->host.empty() ? process->host : "(unknown)";
    const auto known = std::find(grouping.groups.begin(), grouping.groups.end(), host);
    grouping.group_of.push_back(int(known - grouping.groups.begin()));
    if (known == grouping.groups.end()) grouping.groups.push_back(host);
  }
  return grouping;
}

// Devices by their coordinate on the axis; what is on no device of the mesh comes last.
LaneGrouping by_axis(const TraceData& trace, const Mesh& mesh, std::size_t axis) {
  LaneGrouping grouping{.title = fmt::format("axis {}", mesh.axes[axis].name)};
  std::size_t inner = 1;
  for (std::size_t a = axis + 1; a < mesh.axes.size(); ++a) inner *= std::size_t(mesh.axes[a].size);
  std::map<int, int> coordinate;
  for (std::size_t i = 0; i < mesh.devices.size(); ++i)
    coordinate[mesh.devices[i]] = int(i / inner % std::size_t(std::max(mesh.axes[axis].size, 1)));
  for (int c = 0; c < mesh.axes[axis].size; ++c) grouping.groups.push_back(fmt::format("{}={}", mesh.axes[axis].name, c));
  grouping.groups.emplace_back("others");
  for (const auto& lane : trace.lanes) {
    const auto at = coordinate.find(lane.device);
    grouping.group_of.push_back(at == coordinate.end() ? mesh.axes[axis].size : at->second);
  }
  return grouping;
}

}  // namespace

std::vector<LaneGrouping> lane_groupings(const TraceData& trace) {
  std::vector<LaneGrouping> all{by_process(trace)};
  if (LaneGrouping hosts = by_host(trace); hosts.groups.size() > 1) all.push_back(std::move(hosts));
  const auto largest = std::max_element(trace.meshes.begin(), trace.meshes.end(), [](const Mesh& a, const Mesh& b) {
    return std::pair(a.devices.size(), a.axes.size()) < std::pair(b.devices.size(), b.axes.size());
  });
  if (largest == trace.meshes.end()) return all;
  for (std::size_t axis = 0; axis < largest->axes.size(); ++axis)
    if (largest->axes[axis].size > 1) all.push_back(by_axis(trace, *largest, axis));
  return all;
}

}  // namespace shardlab::gui
