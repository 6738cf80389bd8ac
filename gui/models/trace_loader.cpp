#include "gui/models/trace_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "gui/models/lane_builder.h"
#include "runtime/base/where.h"
#include "traces/schema.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {
namespace {

using traces::Id;
using traces::kNoTime;

Ns open_if_missing(Ns time) { return time == kNoTime ? kOpen : time; }

// Loads part after part; the ids of the file become indices.
class Loader {
 public:
  explicit Loader(const LoadOptions& options) : options_(options), reader_(options.path) {}

  TracePtr load() {
    trace_->path = options_.path;
    trace_->title = std::string(base_name(options_.path));
    load_sites();
    load_processes();
    load_meshes();
    load_arrays();
    load_diagnoses();
    load_collectives();
    if (options_.stop.stop_requested()) return nullptr;
    load_lanes();
    if (options_.stop.stop_requested()) return nullptr;
    for (auto& text : reader_.notices()) trace_->notices.push_back({std::move(text), true});
    finish(*trace_);
    return trace_;
  }

 private:
  int site_index(Id id) const { return id > 0 && std::size_t(id) < trace_->sites.size() ? int(id) : -1; }

  void load_sites() {
    for (const auto& row : reader_.sites())
      trace_->sites.push_back(
          {.file = std::string(row.file), .function = std::string(row.function), .line = row.line, .statement = row.statement});
  }

  void load_processes() {
    for (const auto& row : reader_.processes())
      trace_->processes.push_back({.index = row.process,
                                   .host = row.host,
                                   .pid = row.pid,
                                   .state = traces::enum_name("process_state", int(row.state)),
                                   .error = row.error,
                                   .where = row.place,
                                   .exit_code = row.exit_code,
                                   .signal = row.signal});
    for (const auto& row : reader_.devices()) {
      trace_->devices.push_back({.ordinal = row.ordinal,
                                 .process = row.process,
                                 .local = row.local_index,
                                 .name = row.name.empty() ? fmt::format("{} {}", row.kind, row.ordinal) : row.name});
      for (auto& process : trace_->processes)
        if (process.index == row.process) process.devices.push_back(row.ordinal);
    }
  }

  void load_meshes() {
    for (const auto& row : reader_.meshes()) {
      mesh_of_[row.id] = int(trace_->meshes.size());
      Mesh mesh{.name = row.text, .devices = row.devices};
      for (const auto& [name, size] : row.axes) mesh.axes.push_back({name, int(size)});
      trace_->meshes.push_back(std::move(mesh));
    }
  }

  void load_arrays() {
    std::unordered_map<Id, std::shared_ptr<const ArrayLayout>> layouts;
    for (const auto& row : reader_.layouts()) {
      ArrayLayout layout{.shape = row.shape, .spec = row.spec};
      if (const auto mesh = mesh_of_.find(row.mesh); mesh != mesh_of_.end()) layout.mesh = mesh->second;
      for (const auto& axes : row.axes) layout.dim_axes.push_back(fmt::format("{}", fmt::join(axes, ",")));
      for (const auto& part : row.shards) {
        Shard shard{.device = part.device};
        for (const auto& [start, stop] : part.ranges) {
          shard.begin.push_back(start);
          shard.end.push_back(stop);
        }
        // A torn file may know the holder without the range.
        if (shard.begin.size() == layout.shape.size()) layout.shards.push_back(std::move(shard));
      }
      layouts[row.id] = std::make_shared<const ArrayLayout>(std::move(layout));
    }
    for (const auto& row : reader_.arrays()) {
      const auto layout = layouts.find(row.layout);
      if (layout == layouts.end()) continue;
      trace_->arrays.push_back({.name = std::string(row.name),
                                .dtype = std::string(row.dtype),
                                .layout = layout->second,
                                .site = site_index(row.site),
                                .time = row.time_ns});
    }
  }

  void load_diagnoses() { trace_->diagnoses = reader_.diagnoses(); }

  std::shared_ptr<const DeviceGroups> groups_of(const traces::CollectiveShape& what) {
    auto& groups = groups_[fmt::format("{}|{}", what.groups, what.pairs)];
    if (groups) return groups;
    DeviceGroups made{.devices = traces::devices_of(what)};
    if (!what.groups.empty()) made.lists = traces::parse_int_lists(what.groups);
    if (made.lists.empty() && !made.devices.empty()) made.lists = {made.devices};
    return groups = std::make_shared<const DeviceGroups>(std::move(made));
  }

  std::shared_ptr<const CollectiveType> type_of(const traces::CollectiveRow& row) {
    auto& type = types_[{row.program, row.call, row.what.site}];
    const auto& what = row.what;
    if (type && row.program != 0) return type;
    const auto axes = what.axes.empty() ? std::vector<std::string>{} : traces::parse_text_list(what.axes);
    return type = std::make_shared<const CollectiveType>(CollectiveType{.kind = std::string(what.kind),
                                                                        .op = std::string(what.op),
                                                                        .dtype = std::string(what.dtype),
                                                                        .shape = std::string(what.shape),
                                                                        .reduction = std::string(what.reduction),
                                                                        .axes = fmt::format("{}", fmt::join(axes, ", ")),
                                                                        .cause = std::string(what.cause),
                                                                        .sharding_before = std::string(what.sharding_before),
                                                                        .sharding_after = std::string(what.sharding_after),
                                                                        .bytes = what.bytes,
                                                                        .wire_bytes = what.wire_bytes,
                                                                        .site = site_index(what.site),
                                                                        .groups = groups_of(what)});
  }

  void load_collectives() {
    for (const auto& row : reader_.collectives()) {
      Collective call{
          .type = type_of(row),
          .seq = row.seq,
          .state = traces::enum_name("match_state", int(row.state)),
          .diagnosis = row.diagnosis > 0 && std::size_t(row.diagnosis) <= trace_->diagnoses.size() ? int(row.diagnosis) - 1 : -1};
      call.failed = row.state == traces::MatchState::kMismatched || call.diagnosis >= 0;
      for (const auto& side : row.members) {
        if (side.start_ns == kNoTime) continue;  // issued, never begun: nothing to draw
        call.members.push_back({.process = side.process,
                                .device = side.device,
                                .enter = side.start_ns,
                                .start = side.wait_ns == kNoTime && side.end_ns != kNoTime ? side.start_ns : kOpen,
                                .exit = open_if_missing(side.end_ns),
                                .site = site_index(side.site)});
      }
      find_starts(call, trace_->devices);
      collective_of_[row.id] = int(trace_->collectives.size());
      trace_->collectives.push_back(std::move(call));
    }
  }

  void read_events(Id track, LaneEvents& events) {
    reader_.for_each_event(track, [&](const traces::EventRow& row) {
      const bool launch = row.kind == traces::EventKind::kLaunch;
      events.begin.push_back(row.time_ns);
      events.end.push_back(row.duration_ns == kNoTime ? (launch ? row.time_ns : kOpen) : row.time_ns + row.duration_ns);
      events.kind.push_back(static_cast<EventKind>(row.kind));
      events.label.push_back(label_of(row.name, row.site));
      const auto collective = collective_of_.find(row.collective);
      events.collective.push_back(collective == collective_of_.end() ? -1 : collective->second);
      events.flags.push_back(row.flags & traces::kErrorFlag ? kFlagError : 0);
      if (++events_done_ % 65536 == 0 && options_.progress && events_total_ > 0)
        options_.progress(double(events_done_) / double(events_total_));
      return events_done_ % 4096 != 0 || !options_.stop.stop_requested();
    });
  }

  std::uint32_t label_of(std::string_view name, Id site) {
    const auto [it, fresh] = labels_.try_emplace({name.data(), site}, std::uint32_t(trace_->labels.size()));
    if (fresh) trace_->labels.push_back({std::string(name), site_index(site)});
    return it->second;
  }

  void load_lanes() {
    const auto tracks = reader_.tracks();
    for (const auto& track : tracks)
      if (track.kind != traces::TrackKind::kDevice || track.batch_track == 0) events_total_ += track.event_count;
    LaneBuilder builder(*trace_);
    for (const auto& track : tracks)
      if (track.kind == traces::TrackKind::kBatch) read_events(track.id, builder.batch(track.id));
    for (const auto& track : tracks) {
      if (track.kind == traces::TrackKind::kBatch) continue;
      LaneEvents own;
      read_events(track.id, own);
      const std::string name = track.kind == traces::TrackKind::kHost ? "host" : track.name;
      builder.add({.process = track.process,
                   .device = track.kind == traces::TrackKind::kDevice ? track.device : -1,
                   .name = name,
                   .batch = track.batch_track,
                   .own = std::move(own)});
    }
    builder.finish();
  }

  const LoadOptions& options_;
  traces::TraceReader reader_;
  std::shared_ptr<TraceData> trace_ = std::make_shared<TraceData>();
  std::unordered_map<Id, int> mesh_of_, collective_of_;
  std::unordered_map<std::string, std::shared_ptr<const DeviceGroups>> groups_;
  std::map<std::tuple<Id, int, Id>, std::shared_ptr<const CollectiveType>> types_;
  std::map<std::pair<const char*, Id>, std::uint32_t> labels_;  // by the reader's own copy of the text
  std::int64_t events_done_ = 0, events_total_ = 0;
};

}  // namespace

TracePtr load_trace(const LoadOptions& options) { return Loader(options).load(); }

}  // namespace shardlab::gui
