#include "tests/gui/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "gui/models/memory.h"

namespace shardlab::gui::sample {

TraceBuilder::TraceBuilder(int rows, int cols, int devices_per_process) : rows_(rows), cols_(cols) {
  const int count = rows * cols;
  Mesh mesh{.name = "mesh", .axes = {{"a", rows}, {"b", cols}}};
  for (int d = 0; d < count; ++d) {
    const int process = d / devices_per_process;
    if (d % devices_per_process == 0) {
      trace.processes.push_back({.index = process, .host = "host", .pid = 4000 + process, .state = "left"});
      Lane lane{.process = process, .name = "host"};
      trace.lanes.push_back(lane);
    }
    trace.devices.push_back({.ordinal = d, .process = process, .local = d % devices_per_process, .name = fmt::format("CPU {}", d)});
    trace.processes.back().devices.push_back(d);
    Lane lane{.process = process, .device = d, .name = fmt::format("CPU {}", d)};
    trace.lanes.push_back(lane);
    lane_of_.push_back(static_cast<int>(trace.lanes.size()) - 1);
    mesh.devices.push_back(d);
    now_.push_back(0);
  }
  trace.meshes.push_back(mesh);
  launches_.resize(trace.processes.size());
}

int TraceBuilder::site(const std::string& file, int line) {
  trace.sites.push_back({.file = file, .function = "main", .line = line});
  return static_cast<int>(trace.sites.size()) - 1;
}

void TraceBuilder::event(int lane, Ns begin, Ns end, EventKind kind, const std::string& name, int site_index, int collective) {
  const Label label{name, site_index};
  auto it = std::find(trace.labels.begin(), trace.labels.end(), label);
  if (it == trace.labels.end()) it = trace.labels.insert(it, label);
  LaneEvents& row = *trace.lanes[std::size_t(lane)].events;
  row.begin.push_back(begin);
  row.end.push_back(end);
  row.label.push_back(static_cast<std::uint32_t>(it - trace.labels.begin()));
  row.collective.push_back(collective);
  row.kind.push_back(kind);
}

void TraceBuilder::compute(int device, Ns length, const std::string& name, int site_index) {
  Ns& now = now_[std::size_t(device)];
  event(lane_of_[std::size_t(device)], now, now + length, EventKind::kCompute, name, site_index);
  now += length + 200;
}

int TraceBuilder::collective(CollectiveType type, std::vector<std::vector<int>> lists, Ns length, const std::vector<int>& absent,
                             const std::string& state) {
  const int index = static_cast<int>(trace.collectives.size());
  DeviceGroups groups{.lists = lists};
  for (const auto& list : lists) groups.devices.insert(groups.devices.end(), list.begin(), list.end());
  std::sort(groups.devices.begin(), groups.devices.end());
  type.groups = std::make_shared<DeviceGroups>(groups);
  Collective call{.seq = seq_++, .state = state, .failed = state == "mismatched"};
  for (const auto& group : lists) {
    Ns start = 0;
    bool complete = true;
    for (const int d : group) {
      start = std::max(start, now_[std::size_t(d)]);
      complete &= std::find(absent.begin(), absent.end(), d) == absent.end();
    }
    for (const int d : group) {
      if (std::find(absent.begin(), absent.end(), d) != absent.end()) continue;
      Ns& now = now_[std::size_t(d)];
      call.members.push_back({.process = trace.devices[std::size_t(d)].process,
                              .device = d,
                              .enter = now,
                              .start = complete ? start : kOpen,
                              .exit = complete ? start + length : kOpen,
                              .site = type.site});
      event(lane_of_[std::size_t(d)], now, complete ? start + length : kOpen, EventKind::kCollective, type.kind, type.site, index);
      if (complete) now = start + length + 300;
    }
  }
  std::sort(call.members.begin(), call.members.end(), [](const auto& a, const auto& b) { return a.device < b.device; });
  call.type = std::make_shared<CollectiveType>(std::move(type));
  trace.collectives.push_back(std::move(call));
  return index;
}

void TraceBuilder::host_read(int process, Ns length, const std::string& name, int site_index) {
  Ns begin = 0;
  for (const int d : trace.processes[std::size_t(process)].devices) begin = std::max(begin, now_[std::size_t(d)]);
  for (std::size_t l = 0; l < trace.lanes.size(); ++l)
    if (trace.lanes[l].process == process && trace.lanes[l].device < 0)
      event(int(l), begin, begin + length, EventKind::kHostRead, name, site_index);
}

void TraceBuilder::array(const std::string& name, std::vector<std::int64_t> shape, std::vector<std::string> dims, int site_index) {
  ArrayLayout layout{.shape = shape, .spec = "P(", .dim_axes = dims, .mesh = 0};
  for (std::size_t d = 0; d < dims.size(); ++d)
    layout.spec += fmt::format("{}{}", d ? ", " : "", dims[d].empty() ? "None" : dims[d] == "a,b" ? "('a', 'b')" : "'" + dims[d] + "'");
  layout.spec += ")";
  for (int d = 0; d < rows_ * cols_; ++d) {
    Shard shard{.device = d};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const int parts = dims[i] == "a" ? rows_ : dims[i] == "b" ? cols_ : dims[i] == "a,b" ? rows_ * cols_ : 1;
      const int part = dims[i] == "a" ? d / cols_ : dims[i] == "b" ? d % cols_ : dims[i] == "a,b" ? d : 0;
      const std::int64_t piece = (shape[i] + parts - 1) / parts;
      shard.begin.push_back(std::min(shape[i], piece * part));
      shard.end.push_back(std::min(shape[i], piece * (part + 1)));
    }
    layout.shards.push_back(std::move(shard));
  }
  trace.arrays.push_back(
      {.name = name, .dtype = "float32", .layout = std::make_shared<ArrayLayout>(std::move(layout)), .site = site_index});
}

void TraceBuilder::hold(Ns begin, Ns end, bool donated) {
  trace.records_array_ends = true;
  for (const auto& process : trace.processes)
    trace.array_holds.push_back({int(trace.arrays.size()) - 1, process.index, begin, end, donated});
}

int TraceBuilder::program(const std::string& name, std::vector<int> processes) {
  trace.programs.push_back({.name = name, .devices = processes, .processes = processes});
  return int(trace.programs.size()) - 1;
}

void TraceBuilder::launch(int process, int program, std::int64_t seq, Ns issued) {
  trace.launches.push_back(
      {.process = process, .number = launches_[std::size_t(process)]++, .seq = seq, .program = program, .issued = issued});
}

std::vector<std::vector<int>> TraceBuilder::groups(bool by_row) const {
  std::vector<std::vector<int>> groups(std::size_t(by_row ? rows_ : cols_));
  for (int d = 0; d < rows_ * cols_; ++d) groups[std::size_t(by_row ? d / cols_ : d % cols_)].push_back(d);
  return groups;
}

std::vector<std::vector<int>> TraceBuilder::all() const {
  std::vector<int> devices;
  for (int d = 0; d < device_count(); ++d) devices.push_back(d);
  return {devices};
}

TracePtr TraceBuilder::done(const std::string& title) {
  trace.title = title;
  finish(trace);
  trace.memory = MemoryUse::make(trace, trace);
  return std::make_shared<const TraceData>(std::move(trace));
}

CollectiveType all_reduce(const Sum& sum) {
  return {.kind = "all-reduce",
          .op = sum.op,
          .dtype = "float32",
          .shape = sum.shape,
          .reduction = "sum",
          .axes = sum.axes,
          .bytes = sum.bytes,
          .wire_bytes = sum.wire_bytes,
          .site = sum.site};
}

}  // namespace shardlab::gui::sample
