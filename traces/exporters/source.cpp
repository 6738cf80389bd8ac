#include "traces/exporters/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardlab::exporters {
namespace {

using traces::EventKind;
using traces::Statement;
using traces::TrackKind;

constexpr std::string_view kFindCollective =
    "SELECT program, call, seq, launch, state, kind, groups, pairs, axes, dtype, shape, bytes, wire_bytes, reduction, op, cause, "
    "sharding_before, sharding_after, site FROM collectives WHERE id = ?";

// Changes of each device's bytes; the sums are made here.
constexpr std::string_view kMemory =
    "SELECT device, time, sum(bytes) FROM (SELECT device, begin_ns AS time, bytes FROM array_memory UNION ALL SELECT device, end_ns, "
    "-bytes FROM array_memory WHERE end_ns IS NOT NULL) GROUP BY device, time ORDER BY device, time";

constexpr std::string_view kInFlight =
    "SELECT time, sum(bytes) FROM (SELECT m.start_ns AS time, c.bytes FROM members m JOIN collectives c ON c.id = m.collective WHERE "
    "m.start_ns IS NOT NULL UNION ALL SELECT m.end_ns, -c.bytes FROM members m JOIN collectives c ON c.id = m.collective WHERE m.start_ns "
    "IS NOT NULL AND m.end_ns IS NOT NULL) GROUP BY time ORDER BY time";

constexpr std::string_view kMembers =
    "SELECT m.collective, m.process, m.device, m.start_ns FROM members m WHERE m.start_ns IS NOT NULL ORDER BY m.collective, m.process, "
    "m.device";

}  // namespace

// The events of a track, one after the other. Damage ends them.
class Source::Track {
 public:
  Track(Source& source, Id track)
      : source_(source),
        row_(source.database_,
             "SELECT time_ns, duration_ns, kind, name, collective, launch, site, flags FROM events WHERE track = ? ORDER BY time_ns, seq") {
    row_.bind(track);
    next();
  }
  bool done() const { return done_; }
  Ns time() const { return row_.integer(0); }
  Event event() const {
    return {.begin = time(),
            .end = row_.is_null(1) ? kNoTime : time() + row_.integer(1),
            .moment = EventKind(row_.integer(2)) == EventKind::kLaunch,
            .kind = EventKind(row_.integer(2)),
            .name = row_.integer(3),
            .site = row_.integer(6),
            .launch = row_.is_null(5) ? -1 : row_.integer(5),
            .flags = std::uint32_t(row_.integer(7))};
  }
  Id collective() const { return row_.integer(4); }
  void next() {
    done_ = true;
    source_.guarded("events", [&] { done_ = !row_.step(); });
  }

 private:
  Source& source_;
  Statement row_;
  bool done_ = false;
};

std::vector<int> CollectiveFacts::group_of(int device) const {
  if (!what.groups.empty())
    for (auto& group : traces::parse_int_lists(what.groups))
      if (std::find(group.begin(), group.end(), device) != group.end()) return group;
  return devices ? *devices : std::vector<int>();
}

Source::Source(const std::string& path) : reader_(path), database_(traces::TraceReader::open(path)), processes_(reader_.processes()) {
  std::map<int, Id> batch_of;
  const auto tracks = reader_.tracks();
  for (const auto& track : tracks)
    if (track.kind == TrackKind::kHost) lanes_.push_back({track.process, -1, "host", track.id, 0});
  for (const auto& track : tracks)
    if (track.kind == TrackKind::kDevice) lanes_.push_back({track.process, track.device, track.name, track.id, track.batch_track});
  std::stable_sort(lanes_.begin(), lanes_.end(),
                   [](const Lane& a, const Lane& b) { return std::pair(a.process, a.device) < std::pair(b.process, b.device); });
}

void Source::guarded(std::string_view what, const std::function<void()>& read) {
  try {
    read();
  } catch (const IoError& error) {
    missed_.insert(reader_.torn() ? fmt::format("Part of the table {} cannot be read.", what)
                                  : fmt::format("Part of the table {} cannot be read: {}", what, error.what()));
  }
}

const std::vector<int>& Source::devices_of(Id groups, Id pairs, const traces::CollectiveShape& what) {
  const auto [found, added] = devices_.try_emplace({groups, pairs});
  if (added) guarded("strings", [&] { found->second = traces::devices_of(what); });
  return found->second;
}

const CollectiveFacts* Source::facts(Id id) {
  if (id == 0) return nullptr;
  if (facts_.id == id) return facts_known_ ? &facts_ : nullptr;
  facts_ = {.id = id};
  facts_known_ = false;
  guarded("collectives", [&] {
    if (!find_) find_ = std::make_unique<Statement>(database_, kFindCollective);
    Statement& row = *find_;
    row.reset();
    row.bind(id);
    if (!row.step()) return;
    const auto word = [&](int column) { return text(row.integer(column)); };
    facts_.program = row.integer(0);
    facts_.call = int(row.integer(1));
    facts_.seq = row.integer(2);
    facts_.launch = row.integer(3);
    facts_.state = traces::MatchState(row.integer(4));
    facts_.kind = row.integer(5);
    facts_.groups = row.integer(6);
    facts_.axes = row.integer(8);
    facts_.op = row.integer(14);
    facts_.what = {word(5),         word(6),  word(7),  word(8),  word(9),  word(10), row.integer(11),
                   row.integer(12), word(13), word(14), word(15), word(16), word(17), row.integer(18)};
    facts_.devices = &devices_of(row.integer(6), row.integer(7), facts_.what);
    facts_known_ = true;
  });
  return facts_known_ ? &facts_ : nullptr;
}

void Source::for_each_event(const Lane& lane, const std::function<void(const Event&)>& visit) {
  guarded("events", [&] {
    std::vector<Ns> ends;  // of what has not ended, the outermost first
    const auto tell = [&](const Track& track, bool own) {
      Event event = track.event();
      event.collective = facts(track.collective());
      if (!own && event.collective &&
          !std::binary_search(event.collective->devices->begin(), event.collective->devices->end(), lane.device))
        return;
      if (!own && event.kind == EventKind::kCompute && !takes_part(lane, event.launch)) return;
      while (!ends.empty() && ends.back() != kNoTime && ends.back() <= event.begin) ends.pop_back();
      if (event.moment) return visit(event);
      const Ns limit = ends.empty() ? kNoTime : ends.back();
      if (limit != kNoTime && (event.end == kNoTime || event.end > limit)) {
        event.end = limit;
        event.cut = true;
      }
      ends.push_back(event.end);
      visit(event);
    };
    asked_ = {-1, true};
    Track own(*this, lane.own), batch(*this, lane.batch);
    while (!own.done() || !batch.done()) {
      const bool take_own = batch.done() || (!own.done() && own.time() <= batch.time());
      Track& next = take_own ? own : batch;
      tell(next, take_own);
      next.next();
    }
  });
}

bool Source::takes_part(const Lane& lane, std::int64_t launch) {
  if (asked_.first == launch) return asked_.second;
  const Id program = program_of(lane.process, launch);
  const auto [found, added] = program_devices_.try_emplace(program);
  std::vector<int>& devices = found->second;
  if (added && program != 0)
    guarded("programs", [&] {
      Statement row(database_, "SELECT devices FROM programs WHERE id = ?");
      row.bind(program);
      if (row.step()) devices = traces::parse_int_list(row.text(0));
      std::sort(devices.begin(), devices.end());
    });
  asked_ = {launch, devices.empty() || std::binary_search(devices.begin(), devices.end(), lane.device)};
  return asked_.second;
}

Id Source::program_of(int process, std::int64_t launch) {
  Id program = 0;
  guarded("launches", [&] {
    if (!find_program_)
      find_program_ = std::make_unique<Statement>(database_, "SELECT program FROM launches WHERE process = ? AND launch = ?");
    find_program_->reset();
    find_program_->bind(process, launch);
    if (find_program_->step()) program = find_program_->integer(0);
  });
  return program;
}

const std::vector<ProgramStep>& Source::steps_of(int process, std::int64_t launch) {
  const Id program = program_of(process, launch);
  const auto [found, added] = steps_.try_emplace(program);
  if (added && program != 0)
    guarded("programs", [&] {
      Statement row(database_, "SELECT text FROM programs WHERE id = ?");
      row.bind(program);
      if (row.step()) found->second = program_steps(row.text(0));
    });
  return found->second;
}

void Source::for_each_flow(const std::function<void(const std::vector<FlowPoint>&)>& visit) {
  std::map<int, int> process_of;  // by device
  for (const Lane& lane : lanes_)
    if (lane.device >= 0) process_of[lane.device] = lane.process;
  std::vector<FlowPoint> points;
  const auto tell = [&] {
    std::stable_sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) { return a.time < b.time; });
    if (points.size() > 1) visit(points);
    points.clear();
  };
  guarded("members", [&] {
    Statement row(database_, kMembers);
    while (row.step()) {
      FlowPoint point{row.integer(0), int(row.integer(1)), int(row.integer(2)), row.integer(3)};
      if (!points.empty() && points.front().collective != point.collective) tell();
      if (point.device < 0)
        if (const CollectiveFacts* what = facts(point.collective))
          for (const int device : *what->devices)
            if (const auto owner = process_of.find(device); owner != process_of.end() && owner->second == point.process) {
              point.device = device;
              break;
            }
      if (point.device >= 0) points.push_back(point);
    }
  });
  tell();
}

void Source::for_each_memory(const std::function<void(int, Ns, std::int64_t)>& visit) {
  if (!reader_.has_array_ends()) return;
  guarded("array_memory", [&] {
    Statement row(database_, kMemory);
    int device = -1;
    std::int64_t bytes = 0;
    while (row.step()) {
      if (int(row.integer(0)) != device) bytes = 0;
      device = int(row.integer(0));
      visit(device, row.integer(1), bytes += row.integer(2));
    }
  });
}

void Source::for_each_in_flight(const std::function<void(Ns, std::int64_t)>& visit) {
  guarded("members", [&] {
    Statement row(database_, kInFlight);
    std::int64_t bytes = 0;
    while (row.step()) visit(row.integer(0), bytes += row.integer(1));
  });
}

std::vector<std::string> Source::notices() {
  std::vector<std::string> notices = reader_.notices();
  notices.insert(notices.end(), missed_.begin(), missed_.end());
  return notices;
}

}  // namespace shardlab::exporters
