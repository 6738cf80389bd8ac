#include "gui/models/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <QSettings>

#include <algorithm>

#include "traces/report_data.h"

namespace shardlab::gui {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr std::int64_t kEventBytes = 29;  // as measured (docs/status.md)
constexpr double kShareMin = 1e-6;
constexpr std::int64_t kUsesOfLaunch = 4;  // arrays that a launch takes and gives, about

QString setting() { return QStringLiteral("memory/max_gib"); }
// Of the window's own file, also before the application has a name.
struct Settings : QSettings {
  Settings() : QSettings(QStringLiteral("shardlab"), QStringLiteral("shardlab-view")) {}
};

std::int64_t last_id(traces::Database& database, const char* table) {
  return database.integer(fmt::format("SELECT max(id) FROM {}", table));
}

}  // namespace

std::int64_t memory_limit() {
  const double gib = Settings().value(setting(), 0.0).toDouble();
  if (gib > 0) return std::int64_t(gib * kGib);
  return std::int64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 2;
}

void set_memory_limit(double gib) { Settings().setValue(setting(), gib); }

MemoryNeed memory_need(traces::TraceReader& reader) {
  MemoryNeed need;
  std::int64_t launches = 0;
  for (const auto& track : reader.tracks()) {
    if (track.kind == traces::TrackKind::kHost) launches += track.event_count;
    if (track.kind != traces::TrackKind::kDevice || track.batch_track == 0) need.rows += track.event_count * kEventBytes;
  }
  const auto processes = std::max<std::int64_t>(1, std::ssize(reader.processes()));
  try {
    traces::Database database = traces::TraceReader::open(reader.path());
    need.rows += last_id(database, "collectives") * std::int64_t(sizeof(Collective) + sizeof(Member) * std::size_t(processes));
    need.rows += launches * std::int64_t(sizeof(Launch) + sizeof(WaitEdge) + kUsesOfLaunch * sizeof(ArrayUse));
    need.arrays = last_id(database, "arrays") * std::int64_t(sizeof(Array) + sizeof(ArrayHold) * std::size_t(processes));
  } catch (const IoError&) {  // a torn trace: what is not there needs nothing
  }
  return need;
}

OpenedPart last_part(traces::TraceReader& reader, TimeRange range, const MemoryNeed& need, std::int64_t limit) {
  OpenedPart part;
  part.share = std::clamp(double(limit - need.arrays) / double(std::max<std::int64_t>(need.rows, 1)), kShareMin, 1.0);
  part.from = range.end - Ns(double(range.length()) * part.share);
  auto& from = part.rows_from.from;
  from["collectives"][0] = traces::Growth::kNoRow;
  try {
    traces::Database database = traces::TraceReader::open(reader.path());
    traces::Statement collective(database, "SELECT min(id) FROM collectives WHERE last_ns >= ?");
    collective.bind(part.from);
    if (collective.step() && !collective.is_null(0)) from["collectives"][0] = collective.integer(0);
    traces::Statement launch(database, "SELECT process, min(launch) FROM launches WHERE done_ns >= ? GROUP BY process");
    launch.bind(part.from);
    while (launch.step()) from["launches"][launch.integer(0)] = from["launch_arrays"][launch.integer(0)] = launch.integer(1);
  } catch (const IoError&) {  // told by who reads the tables
  }
  for (const auto& process : reader.processes())
    for (const char* table : {"host_reads", "wait_edges"}) from[table][process.process] = part.from;
  part.notice = fmt::format(
      "All of this trace would take about {} of memory, and the limit is {}: the last {} of {} are opened. --memory GIB sets the limit; "
      "shardlab report and shardlab export read all of it.",
      traces::bytes_text(need.all()), traces::bytes_text(limit), traces::duration_text(range.end - part.from),
      traces::duration_text(range.length()));
  return part;
}

}  // namespace shardlab::gui
