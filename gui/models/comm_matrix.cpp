#include "gui/models/comm_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardlab::gui {
namespace {

std::size_t group_size(const CollectiveType& type) {
  std::size_t size = 1;
  for (const auto& list : type.groups->lists) size = std::max(size, list.size());
  return size;
}

std::uint64_t key(int row, int column) { return std::uint64_t(std::uint32_t(row)) << 32 | std::uint32_t(column); }

// Of the transfer itself: from the last arrival to the departure, longest over the members; those of one group, or all.
Ns transfer_time(const TraceData& trace, const Collective& call, const std::vector<int>& group) {
  const auto takes_part = [&](const Member& member) {
    return group.empty() || std::any_of(group.begin(), group.end(), [&](int ordinal) {
             const Device* device = trace.device(ordinal);
             return member.device >= 0 ? member.device == ordinal : device && device->process == member.process;
           });
  };
  Ns longest = 0;
  for (const auto& member : call.members)
    if (member.exit != kOpen && takes_part(member))
      longest = std::max(longest, member.exit - (member.start == kOpen ? member.enter : member.start));
  return longest;
}

// The row of each device, by ordinal; -1: none.
std::vector<int> rows_of(const TraceData& trace, const MatrixOptions& options, std::vector<std::string>& labels) {
  int highest = -1;
  for (const auto& device : trace.devices) highest = std::max(highest, device.ordinal);
  std::vector<int> rows(std::size_t(highest + 1), -1);
  if (options.by == MatrixBy::kDevice)
    for (const auto& device : trace.devices) {
      rows[std::size_t(device.ordinal)] = int(labels.size());
      labels.push_back(device.name.empty() ? fmt::format("{}", device.ordinal) : device.name);
    }
  if (options.by == MatrixBy::kProcess)
    for (const auto& process : trace.processes) {
      for (const int device : process.devices)
        if (device >= 0 && device <= highest) rows[std::size_t(device)] = int(labels.size());
      labels.push_back(fmt::format("process {}", process.index));
    }
  if (options.by == MatrixBy::kAxis && std::size_t(options.mesh) < trace.meshes.size()) {
    const Mesh& mesh = trace.meshes[std::size_t(options.mesh)];
    if (std::size_t(options.axis) >= mesh.axes.size()) return rows;
    int inner = 1;
    for (std::size_t a = std::size_t(options.axis) + 1; a < mesh.axes.size(); ++a) inner *= mesh.axes[a].size;
    const auto& axis = mesh.axes[std::size_t(options.axis)];
    for (int i = 0; i < axis.size; ++i) labels.push_back(fmt::format("{}={}", axis.name, i));
    for (std::size_t i = 0; i < mesh.devices.size(); ++i)
      if (mesh.devices[i] >= 0 && mesh.devices[i] <= highest) rows[std::size_t(mesh.devices[i])] = int(i) / inner % axis.size;
  }
  return rows;
}

// Of each run of a program its number among them, by the time of its first collective.
class Steps {
 public:
  int of(const Collective& call) {
    auto& runs = runs_[call.program];
    return runs.try_emplace({call.seq, call.launch}, int(runs.size()) + 1).first->second;
  }

 private:
  std::map<int, std::map<std::pair<std::int64_t, std::int64_t>, int>> runs_;
};

bool has_group(const CollectiveType& type, const std::vector<int>& group) {
  const auto& lists = type.groups->lists;
  return group.empty() || std::find(lists.begin(), lists.end(), group) != lists.end();
}

void add(MatrixCell& cell, double bytes, double data, double bus, Ns time) {
  cell.bytes += bytes;
  cell.data_bytes += data;
  cell.bus_bytes += bus;
  cell.time += time;
  ++cell.count;
}

}  // namespace

double MatrixCell::value(MatrixMetric metric) const {
  switch (metric) {
    case MatrixMetric::kBytes:
      return bytes;
    case MatrixMetric::kCount:
      return double(count);
    case MatrixMetric::kTime:
      return double(time);
    case MatrixMetric::kAlgbw:
      return time > 0 ? data_bytes * 1e9 / double(time) : 0;
    case MatrixMetric::kBusbw:
      break;
  }
  return time > 0 ? bus_bytes * 1e9 / double(time) : 0;
}

const MatrixCell* CommMatrix::cell(std::size_t row, std::size_t column) const {
  const auto it = cells.find(key(int(row), int(column)));
  return it == cells.end() ? nullptr : &it->second;
}

double CommMatrix::most(MatrixMetric metric) const {
  double most = 0;
  for (const auto& [at, cell] : cells) most = std::max(most, cell.value(metric));
  return most;
}

std::vector<Link> links_of(const CollectiveType& type) {
  std::vector<Link> links;
  if (!type.pairs.empty()) {
    for (const auto& [source, target] : type.pairs)
      if (source != target) links.push_back({source, target, 0});
  } else {
    for (const auto& group : type.groups->lists) {
      const std::size_t n = group.size();
      if (n < 2) continue;
      if (type.kind == "all-to-all" || type.kind == "ragged-all-to-all") {
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j)
            if (i != j) links.push_back({group[i], group[j], 0});
      } else if (type.kind == "collective-broadcast") {
        for (std::size_t i = 0; i + 1 < n; ++i) links.push_back({group[i], group[i + 1], 0});
      } else {
        for (std::size_t i = 0; i < n; ++i) links.push_back({group[i], group[(i + 1) % n], 0});
      }
    }
  }
  for (auto& link : links) link.share = 1.0 / double(links.size());
  return links;
}

double data_bytes(const CollectiveType& type) {
  const double result = double(type.bytes);
  return type.kind == "reduce-scatter" ? result * double(group_size(type)) : result;
}

double bus_factor(const CollectiveType& type) {
  const auto n = double(group_size(type));
  if (n < 2 || !type.pairs.empty()) return 1;
  if (type.kind == "all-reduce") return 2 * (n - 1) / n;
  if (type.kind == "all-gather" || type.kind == "reduce-scatter" || type.kind == "all-to-all") return (n - 1) / n;
  return 1;
}

CommMatrix make_comm_matrix(const TraceData& trace, const MatrixOptions& options) {
  CommMatrix matrix;
  const std::vector<int> row_of = rows_of(trace, options, matrix.labels);
  std::map<std::pair<std::string, std::string>, KindSum> kinds;
  std::map<const CollectiveType*, std::vector<Link>> links;  // shared by all runs of a program
  std::size_t done = 0;
  Steps steps;
  for (const auto& call : trace.collectives) {
    if (++done % 1024 == 0 && options.stop.stop_requested()) break;
    const CollectiveType& type = *call.type;
    const int step = steps.of(call);
    matrix.steps = std::max(matrix.steps, step);
    if (options.step > 0 && step != options.step) continue;
    if (!options.kind.empty() && type.kind != options.kind) continue;
    if (!options.op.empty() && type.op != options.op) continue;
    if (!has_group(type, options.group)) continue;
    const TimeRange span = call.span();
    if (!options.window.empty() && (span.end < options.window.begin || span.begin > options.window.end)) continue;
    KindSum& sum = kinds[{type.kind, type.axes}];
    sum.kind = type.kind;
    sum.axes = type.axes;
    if (call.open) {
      ++sum.unfinished;
      ++matrix.skipped;
      continue;
    }
    const Ns time = transfer_time(trace, call, options.group);
    const double data = data_bytes(type), bus = data * bus_factor(type), all_wire = double(type.wire_bytes);
    const auto [it, fresh] = links.try_emplace(&type);
    if (fresh) {
      it->second = links_of(type);
      const auto in = [&](int device) {
        return options.group.empty() || std::find(options.group.begin(), options.group.end(), device) != options.group.end();
      };
      std::erase_if(it->second, [&](const Link& link) { return !in(link.source) || !in(link.target); });
    }
    double share = options.group.empty() ? 1 : 0;  // of its bytes that the group's links carry
    if (!options.group.empty())
      for (const Link& link : it->second) share += link.share;
    add(sum.cell, share * all_wire, data, bus, time);
    add(matrix.total, share * all_wire, data, bus, time);
    std::map<std::uint64_t, double> of_call;  // several links may fall into one cell; the call counts once there
    for (const Link& link : it->second) {
      const auto row = [&](int device) { return device >= 0 && std::size_t(device) < row_of.size() ? row_of[std::size_t(device)] : -1; };
      const int source = row(link.source), target = row(link.target);
      if (source >= 0 && target >= 0) of_call[key(source, target)] += link.share * all_wire;
    }
    for (const auto& [at, bytes] : of_call) add(matrix.cells[at], bytes, data, bus, time);
  }
  for (auto& [name, sum] : kinds) matrix.kinds.push_back(std::move(sum));
  std::stable_sort(matrix.kinds.begin(), matrix.kinds.end(),
                   [](const KindSum& a, const KindSum& b) { return a.cell.bytes > b.cell.bytes; });
  return matrix;
}

MatrixChoices matrix_choices(const TraceData& trace) {
  MatrixChoices choices;
  std::set<const CollectiveType*> seen;
  std::set<std::vector<int>> groups;
  for (const auto& call : trace.collectives) {
    if (!seen.insert(call.type.get()).second) continue;
    choices.kinds.insert(call.type->kind);
    if (!call.type->op.empty()) choices.ops.insert(call.type->op);
    for (const auto& list : call.type->groups->lists)
      if (list.size() > 1) groups.insert(list);
  }
  choices.groups.assign(groups.begin(), groups.end());
  return choices;
}

}  // namespace shardlab::gui
