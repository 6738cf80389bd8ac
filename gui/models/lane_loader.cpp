#include "gui/models/lane_loader.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

namespace shardlab::gui {
namespace {

using traces::Id;
using traces::kNoTime;

constexpr std::int64_t kPreviewEvents = 200'000;  // fewer are there before a preview could be seen
constexpr std::int64_t kReserveMax = std::int64_t{1} << 28;
constexpr std::int64_t kProgressEvents = 65'536;
constexpr int kThreadsMax = 4;

// Devices in lockstep have their events in the batch's track.
bool own_alone(const traces::TrackRow& track) { return track.kind != traces::TrackKind::kDevice || track.batch_track == 0; }

Lane::Summary summary_of(const traces::TrackRow& track) {
  return {track.event_count, track.error_count, track.open_count, open_if_missing(track.first_ns), open_if_missing(track.last_ns),
          track.busy_ns};
}

LaneBuilder::Track lane_track(const traces::TrackRow& track) {
  return {.process = track.process,
          .device = track.kind == traces::TrackKind::kDevice ? track.device : -1,
          .name = track.kind == traces::TrackKind::kHost ? "host" : track.name,
          .batch = track.batch_track,
          .own = {},
          .summary = summary_of(track)};
}

}  // namespace

std::uint32_t LabelRows::of(Id name, Id site) {
  const std::uint64_t key = std::uint64_t(name) << 32 | std::uint32_t(site);
  if (key == last_key) return last;
  const auto [it, fresh] = index.try_emplace(key, std::uint32_t(rows.size()));
  if (fresh) rows.emplace_back(name, site);
  last_key = key;
  return last = it->second;
}

LaneLoader::LaneLoader(const LoadOptions& options, traces::TraceReader& reader, TraceData& trace, const std::vector<int>& collective_of)
    : options_(options), reader_(reader), trace_(trace), collective_of_(collective_of), tracks_(reader.tracks()) {
  TimeRange range{kOpen, 0};
  for (const auto& track : tracks_) {
    if (own_alone(track)) events_total_ += track.event_count;
    if (track.first_ns != kNoTime) range.begin = std::min(range.begin, track.first_ns);
    if (track.last_ns != kNoTime) range.end = std::max(range.end, track.last_ns);
  }
  summary_range_ = range;
}

TracePtr LaneLoader::preview() const {
  if (events_total_ < kPreviewEvents || summary_range_.begin >= summary_range_.end) return nullptr;
  auto preview = std::make_shared<TraceData>(trace_);
  preview->preview = true;
  preview->range = summary_range_;
  LaneBuilder builder(*preview);
  for (const auto& track : tracks_)
    if (track.kind != traces::TrackKind::kBatch) builder.add(lane_track(track));
  builder.finish();
  return preview;
}

void LaneLoader::keep(std::map<Id, LaneEvents>& tracks, LabelRows& labels, const traces::Growth* since) {
  kept_ = &tracks;
  kept_labels_ = &labels;
  since_ = since;
  for (const auto& track : tracks_) tracks.try_emplace(track.id);  // threads look them up
}

Ns LaneLoader::take_kept(const traces::TrackRow& track, LaneEvents& events) {
  if (!since_) return std::numeric_limits<Ns>::min();
  events = std::move(kept_->at(track.id));
  const Ns from = since_->least("events", track.id);
  const auto stand = std::size_t(std::lower_bound(events.begin.begin(), events.begin.end(), from) - events.begin.begin());
  events.begin.resize(stand);
  events.end.resize(stand);
  events.kind.resize(stand);
  events.label.resize(stand);
  events.collective.resize(stand);
  events.flags.resize(stand);
  if (!events.program.empty()) events.program.resize(stand);
  return from;
}

std::vector<bool> LaneLoader::parting_programs(int process) const {
  const Process* row = trace_.process(process);
  std::vector<bool> parting;
  for (std::size_t p = 0; row && p < trace_.programs.size(); ++p) {
    std::vector<int> devices = trace_.programs[p].devices;
    std::sort(devices.begin(), devices.end());
    const auto runs = std::count_if(row->devices.begin(), row->devices.end(),
                                    [&](int device) { return std::binary_search(devices.begin(), devices.end(), device); });
    if (runs == 0 || runs == std::ssize(row->devices)) continue;
    parting.resize(trace_.programs.size());
    parting[p] = true;
  }
  return parting;
}

// For the next load as the file has it; for the lanes with indices of collectives.
void LaneLoader::keep_and_index(std::vector<LaneEvents>& events) {
  if (!kept_) return;
  for (std::size_t i = 0; i < events.size(); ++i) {
    kept_->at(tracks_[i].id) = events[i];
    for (int& collective : events[i].collective)
      collective = collective > 0 && std::size_t(collective) < collective_of_.size() ? collective_of_[std::size_t(collective)] : -1;
  }
}

void LaneLoader::read_events(traces::TraceReader& reader, const traces::TrackRow& track, Labels& labels, LaneEvents& events) {
  const Ns from = std::max(take_kept(track, events), from_);
  if (from == traces::Growth::kNoRow) return;
  if (own_alone(track) && track.event_count > 0) {
    const auto n = std::size_t(std::min(std::int64_t(double(track.event_count) * share_), kReserveMax));
    events.begin.reserve(n);
    events.end.reserve(n);
    events.kind.reserve(n);
    events.label.reserve(n);
    events.collective.reserve(n);
    events.flags.reserve(n);
  }
  const std::vector<bool> parting = track.kind == traces::TrackKind::kBatch ? parting_programs(track.process) : std::vector<bool>();
  if (!parting.empty()) events.program.resize(events.size(), -1);
  const Launch* launch_before = nullptr;
  const auto program_of = [&](const traces::EventCore& row) {
    if (row.kind != traces::EventKind::kCompute) return -1;
    if (!launch_before || launch_before->number != row.launch) launch_before = trace_.launch(track.process, row.launch);
    const int program = launch_before ? launch_before->program : -1;
    return program >= 0 && parting[std::size_t(program)] ? program : -1;
  };
  std::int64_t count = 0;
  const auto collective_of = [&](Id id) {
    if (kept_) return id > 0 && id < kReserveMax ? int(id) : -1;
    return id > 0 && std::size_t(id) < collective_of_.size() ? collective_of_[std::size_t(id)] : -1;
  };
  reader.scan_events(track.id, from, [&](const traces::EventCore& row) {
    const bool launch = row.kind == traces::EventKind::kLaunch;
    events.begin.push_back(row.time_ns);
    events.end.push_back(row.duration_ns == kNoTime ? (launch ? row.time_ns : kOpen) : row.time_ns + row.duration_ns);
    events.kind.push_back(static_cast<EventKind>(row.kind));
    events.label.push_back(labels.of(row.name, row.site));
    events.collective.push_back(collective_of(row.collective));
    events.flags.push_back(row.flags & traces::kErrorFlag ? kFlagError : 0);
    if (!parting.empty()) events.program.push_back(program_of(row));
    if (++count % kProgressEvents != 0) return true;
    tell_progress(kProgressEvents);
    return !options_.stop.stop_requested();
  });
  tell_progress(count % kProgressEvents);
}

void LaneLoader::tell_progress(std::int64_t events) {
  const std::int64_t done = events_done_ += events;
  if (options_.progress && !since_ && events_total_ > kPreviewEvents && events > 0) options_.progress(double(done) / double(events_total_));
}

std::vector<std::string> LaneLoader::read_all(std::vector<Labels>& labels, std::vector<std::uint32_t>& reader_of,
                                              std::vector<LaneEvents>& events) {
  std::vector<std::string> missed;
  std::mutex missed_mutex;
  std::atomic<std::size_t> next = 0;
  const auto work = [&](std::size_t thread, traces::TraceReader& reader) {
    for (std::size_t i = next++; i < tracks_.size() && !options_.stop.stop_requested(); i = next++) {
      reader_of[i] = std::uint32_t(thread);
      read_events(reader, tracks_[i], labels[thread], events[i]);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < labels.size(); ++t)
    others.emplace_back([&, t] {
      try {
        traces::TraceReader reader(options_.path);
        work(t, reader);
        if (!reader.torn()) return;
        const std::scoped_lock lock(missed_mutex);
        for (auto& text : reader.notices())
          if (std::find(missed.begin(), missed.end(), text) == missed.end()) missed.push_back(std::move(text));
      } catch (const IoError&) {  // this thread's reader told the same trouble: reader_ reads what is left
      }
    });
  work(0, reader_);
  others.clear();
  return missed;
}

void LaneLoader::load() {
  std::vector<LaneEvents> events(tracks_.size());
  std::vector<std::uint32_t> reader_of(tracks_.size());
  const int threads = events_total_ < kPreviewEvents ? 1 : std::clamp(int(std::thread::hardware_concurrency()), 1, kThreadsMax);
  std::vector<Labels> labels{std::size_t(since_ ? 1 : threads)};
  if (since_) labels[0] = std::move(*kept_labels_);
  for (auto& text : read_all(labels, reader_of, events)) trace_.notices.push_back({std::move(text), true});
  if (options_.stop.stop_requested()) return;
  renumber(labels, reader_of, events);
  keep_and_index(events);
  LaneBuilder builder(trace_);
  for (std::size_t i = 0; i < tracks_.size(); ++i)
    if (tracks_[i].kind == traces::TrackKind::kBatch) builder.batch(tracks_[i].id) = std::move(events[i]);
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (tracks_[i].kind == traces::TrackKind::kBatch) continue;
    LaneBuilder::Track track = lane_track(tracks_[i]);
    track.own = std::move(events[i]);
    builder.add(std::move(track));
  }
  builder.finish();
  if (summary_range_.begin < summary_range_.end && trace_.notices.empty() && !reader_.torn()) trace_.range = summary_range_;
  finish(trace_, threads);
}

void LaneLoader::renumber(const std::vector<Labels>& labels, const std::vector<std::uint32_t>& reader_of, std::vector<LaneEvents>& events) {
  const auto site_index = [&](Id id) { return id > 0 && std::size_t(id) < trace_.sites.size() ? int(id) : -1; };
  Labels known;
  std::vector<std::vector<std::uint32_t>> to(labels.size());
  for (std::size_t t = 0; t < labels.size(); ++t)
    for (const auto& [name, site] : labels[t].rows) {
      to[t].push_back(known.of(name, site));
      if (known.rows.size() > trace_.labels.size()) trace_.labels.push_back({std::string(reader_.text(name)), site_index(site)});
    }
  for (std::size_t i = 0; i < events.size(); ++i)
    if (labels.size() > 1)
      for (auto& label : events[i].label) label = to[reader_of[i]][label];
  if (kept_labels_) *kept_labels_ = std::move(known);
}

}  // namespace shardlab::gui
