#include "gui/models/trace_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
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
    count_events();
    show_preview();
    load_programs();
    load_collectives();
    if (options_.stop.stop_requested()) return nullptr;
    load_launches();
    load_lanes();
    if (options_.stop.stop_requested()) return nullptr;
    for (auto& text : reader_.notices())
      if (std::none_of(trace_->notices.begin(), trace_->notices.end(), [&](const Notice& each) { return each.text == text; }))
        trace_->notices.push_back({std::move(text), true});
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
                                .time = row.time_ns,
                                .process = row.process,
                                .launch = row.launch});
    }
  }

  void load_programs() {
    for (auto& row : reader_.programs()) {
      program_of_[row.id] = int(trace_->programs.size());
      Program program{.name = std::move(row.name),
                      .text = std::move(row.text),
                      .mesh = std::move(row.mesh),
                      .devices = std::move(row.devices),
                      .processes = std::move(row.processes)};
      for (auto& value : row.values)
        (value.is_result ? program.results : program.operands)
            .push_back({std::move(value.name), std::move(value.dtype), std::move(value.sharding), std::move(value.shape)});
      trace_->programs.push_back(std::move(program));
    }
  }

  int program_index(Id id) const {
    const auto it = program_of_.find(id);
    return it == program_of_.end() ? -1 : it->second;
  }

  void load_launches() {
    for (const auto& row : reader_.launches())
      trace_->launches.push_back({.process = row.process,
                                  .number = row.launch,
                                  .seq = row.seq,
                                  .program = program_index(row.program),
                                  .site = site_index(row.site),
                                  .issued = row.issued_ns,
                                  .started = open_if_missing(row.started_ns),
                                  .done = open_if_missing(row.done_ns)});
    for (const auto& row : reader_.host_reads())
      trace_->host_reads.push_back({.process = row.process,
                                    .begin = row.begin_ns,
                                    .end = open_if_missing(row.end_ns),
                                    .what = std::string(row.what),
                                    .site = site_index(row.site)});
    for (const auto& row : reader_.wait_edges())
      trace_->wait_edges.push_back({.process = row.process,
                                    .peer = row.peer,
                                    .begin = row.begin_ns,
                                    .end = open_if_missing(row.end_ns),
                                    .collective = collective_index(row.collective)});
  }

  int collective_index(Id id) const { return id > 0 && std::size_t(id) < collective_of_.size() ? collective_of_[std::size_t(id)] : -1; }

  void load_diagnoses() { trace_->diagnoses = reader_.diagnoses(); }

  std::shared_ptr<const DeviceGroups> groups_of(const traces::CollectiveShape& what) {
    auto& groups = groups_[fmt::format("{}|{}", what.groups, what.pairs)];
    if (groups) return groups;
    DeviceGroups made{.devices = traces::devices_of(what)};
    if (!what.groups.empty()) made.lists = traces::parse_int_lists(what.groups);
    if (made.lists.empty() && !made.devices.empty()) made.lists = {made.devices};
    return groups = std::make_shared<const DeviceGroups>(std::move(made));
  }

  static std::vector<std::pair<int, int>> pairs_of(const traces::CollectiveShape& what) {
    std::vector<std::pair<int, int>> pairs;
    if (what.pairs.empty()) return pairs;
    for (const auto& pair : traces::parse_int_lists(what.pairs))
      if (pair.size() == 2) pairs.emplace_back(pair[0], pair[1]);
    return pairs;
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
                                                                        .pairs = pairs_of(what),
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
          .program = program_index(row.program),
          .call = row.call,
          .launch = row.launch,
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
                                .site = site_index(side.site),
                                .moved_bytes = side.moved_bytes});
      }
      find_starts(call, trace_->devices);
      if (row.id >= 0 && row.id < kReserveMax) {
        if (std::size_t(row.id) >= collective_of_.size()) collective_of_.resize(std::size_t(row.id) + 1, -1);
        collective_of_[std::size_t(row.id)] = int(trace_->collectives.size());
      }
      trace_->collectives.push_back(std::move(call));
    }
  }

  // Labels of one reading thread; renumbered into the trace's when all have ended.
  struct Labels {
    std::unordered_map<std::uint64_t, std::uint32_t> index;  // name << 32 | site
    std::vector<std::pair<Id, Id>> rows;
    std::uint64_t last_key = ~std::uint64_t{0};
    std::uint32_t last = 0;

    std::uint32_t of(Id name, Id site) {
      const std::uint64_t key = std::uint64_t(name) << 32 | std::uint32_t(site);
      if (key == last_key) return last;
      const auto [it, fresh] = index.try_emplace(key, std::uint32_t(rows.size()));
      if (fresh) rows.emplace_back(name, site);
      last_key = key;
      return last = it->second;
    }
  };

  void read_events(traces::TraceReader& reader, const traces::TrackRow& track, Labels& labels, LaneEvents& events) {
    const bool own_alone = track.kind != traces::TrackKind::kDevice || track.batch_track == 0;
    if (own_alone && track.event_count > 0) {
      const auto n = std::size_t(std::min<std::int64_t>(track.event_count, kReserveMax));
      events.begin.reserve(n);
      events.end.reserve(n);
      events.kind.reserve(n);
      events.label.reserve(n);
      events.collective.reserve(n);
      events.flags.reserve(n);
    }
    std::int64_t count = 0;
    reader.scan_events(track.id, [&](const traces::EventCore& row) {
      const bool launch = row.kind == traces::EventKind::kLaunch;
      events.begin.push_back(row.time_ns);
      events.end.push_back(row.duration_ns == kNoTime ? (launch ? row.time_ns : kOpen) : row.time_ns + row.duration_ns);
      events.kind.push_back(static_cast<EventKind>(row.kind));
      events.label.push_back(labels.of(row.name, row.site));
      events.collective.push_back(
          row.collective > 0 && std::size_t(row.collective) < collective_of_.size() ? collective_of_[std::size_t(row.collective)] : -1);
      events.flags.push_back(row.flags & traces::kErrorFlag ? kFlagError : 0);
      if (++count % kProgressEvents != 0) return true;
      tell_progress(kProgressEvents);
      return !options_.stop.stop_requested();
    });
    tell_progress(count % kProgressEvents);
  }

  void tell_progress(std::int64_t events) {
    const std::int64_t done = events_done_ += events;
    if (options_.progress && events_total_ > kPreviewEvents && events > 0) options_.progress(double(done) / double(events_total_));
  }

  static Lane::Summary summary_of(const traces::TrackRow& track) {
    return {track.event_count, track.error_count, track.open_count, open_if_missing(track.first_ns), open_if_missing(track.last_ns),
            track.busy_ns};
  }

  LaneBuilder::Track lane_track(const traces::TrackRow& track) const {
    return {.process = track.process,
            .device = track.kind == traces::TrackKind::kDevice ? track.device : -1,
            .name = track.kind == traces::TrackKind::kHost ? "host" : track.name,
            .batch = track.batch_track,
            .own = {},
            .summary = summary_of(track)};
  }

  void count_events() {
    tracks_ = reader_.tracks();
    TimeRange range{kOpen, 0};
    for (const auto& track : tracks_) {
      if (track.kind != traces::TrackKind::kDevice || track.batch_track == 0) events_total_ += track.event_count;
      if (track.first_ns != kNoTime) range.begin = std::min(range.begin, track.first_ns);
      if (track.last_ns != kNoTime) range.end = std::max(range.end, track.last_ns);
    }
    summary_range_ = range;
  }

  // What the file says of its lanes, for a first picture before the events are read.
  void show_preview() {
    if (!options_.preview || events_total_ < kPreviewEvents || summary_range_.begin >= summary_range_.end) return;
    auto preview = std::make_shared<TraceData>(*trace_);
    preview->preview = true;
    preview->range = summary_range_;
    LaneBuilder builder(*preview);
    for (const auto& track : tracks_)
      if (track.kind != traces::TrackKind::kBatch) builder.add(lane_track(track));
    builder.finish();
    options_.preview(preview);
  }

  void load_lanes() {
    std::vector<LaneEvents> events(tracks_.size());
    std::vector<std::uint32_t> reader_of(tracks_.size());
    const int threads = events_total_ < kPreviewEvents ? 1 : std::clamp(int(std::thread::hardware_concurrency()), 1, kThreadsMax);
    std::vector<Labels> labels{std::size_t(threads)};
    std::vector<std::string> notices;  // of the other threads' readers
    std::mutex notices_mutex;
    std::atomic<std::size_t> next = 0;
    const auto work = [&](int thread, traces::TraceReader& reader) {
      for (std::size_t i = next++; i < tracks_.size() && !options_.stop.stop_requested(); i = next++) {
        reader_of[i] = std::uint32_t(thread);
        read_events(reader, tracks_[i], labels[std::size_t(thread)], events[i]);
      }
    };
    {
      std::vector<std::jthread> others;
      for (int t = 1; t < threads; ++t)
        others.emplace_back([&, t] {
          try {
            traces::TraceReader reader(options_.path);
            work(t, reader);
            if (!reader.torn()) return;
            const std::scoped_lock lock(notices_mutex);
            for (auto& text : reader.notices())
              if (std::find(notices.begin(), notices.end(), text) == notices.end()) notices.push_back(std::move(text));
          } catch (const IoError&) {  // this thread's reader told the same trouble: reader_ reads what is left
          }
        });
      work(0, reader_);
    }
    if (options_.stop.stop_requested()) return;
    renumber(labels, reader_of, events);
    for (auto& text : notices) trace_->notices.push_back({std::move(text), true});
    LaneBuilder builder(*trace_);
    for (std::size_t i = 0; i < tracks_.size(); ++i)
      if (tracks_[i].kind == traces::TrackKind::kBatch) builder.batch(tracks_[i].id) = std::move(events[i]);
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      if (tracks_[i].kind == traces::TrackKind::kBatch) continue;
      LaneBuilder::Track track = lane_track(tracks_[i]);
      track.own = std::move(events[i]);
      builder.add(std::move(track));
    }
    builder.finish();
    if (summary_range_.begin < summary_range_.end && trace_->notices.empty() && !reader_.torn()) trace_->range = summary_range_;
    finish(*trace_, threads);
  }

  void renumber(const std::vector<Labels>& labels, const std::vector<std::uint32_t>& reader_of, std::vector<LaneEvents>& events) {
    std::map<std::pair<Id, Id>, std::uint32_t> known;
    std::vector<std::vector<std::uint32_t>> to(labels.size());
    for (std::size_t t = 0; t < labels.size(); ++t)
      for (const auto& [name, site] : labels[t].rows) {
        const auto [it, fresh] = known.try_emplace({name, site}, std::uint32_t(trace_->labels.size()));
        if (fresh) trace_->labels.push_back({std::string(reader_.text(name)), site_index(site)});
        to[t].push_back(it->second);
      }
    for (std::size_t i = 0; i < events.size(); ++i)
      if (reader_of[i] != 0 || labels.size() > 1)
        for (auto& label : events[i].label) label = to[reader_of[i]][label];
  }

  const LoadOptions& options_;
  traces::TraceReader reader_;
  std::shared_ptr<TraceData> trace_ = std::make_shared<TraceData>();
  static constexpr std::int64_t kPreviewEvents = 200'000;  // fewer are there before a preview could be seen
  static constexpr std::int64_t kReserveMax = std::int64_t{1} << 28;
  static constexpr std::int64_t kProgressEvents = 65'536;
  static constexpr int kThreadsMax = 4;

  std::vector<traces::TrackRow> tracks_;
  TimeRange summary_range_;
  std::unordered_map<Id, int> mesh_of_, program_of_;
  std::vector<int> collective_of_;  // by id
  std::unordered_map<std::string, std::shared_ptr<const DeviceGroups>> groups_;
  std::map<std::tuple<Id, int, Id>, std::shared_ptr<const CollectiveType>> types_;
  std::atomic<std::int64_t> events_done_ = 0;
  std::int64_t events_total_ = 0;
};

}  // namespace

TracePtr load_trace(const LoadOptions& options) { return Loader(options).load(); }

}  // namespace shardlab::gui
