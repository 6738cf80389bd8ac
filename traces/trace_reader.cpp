#include "traces/trace_reader.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "traces/regrow.h"
#include "traces/schema.h"

namespace shardlab::traces {
namespace {

// Which kind of file this is, and that we can read it. Throws IoError.
void check_kind(Database& database, const std::string& path) {
  const std::int64_t kind = database.integer("PRAGMA application_id");
  if (kind == kPartApplicationId)
    throw IoError(fmt::format("{}: this is one process's part of a trace; merge the job's parts first (shardlab merge)", path));
  if (kind != kTraceApplicationId)
    throw IoError(fmt::format("{}: not a trace: an SQLite file of another program{}", path,
                              kind == 0 ? "" : fmt::format(" (application id {:#x})", std::uint32_t(kind))));
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version > kSchemaVersion)
    throw IoError(
        fmt::format("{}: written with trace schema {}, this program reads up to {}; use a newer shardlab", path, version, kSchemaVersion));
  if (version < 0) throw IoError(fmt::format("{}: not a trace: its schema version is {}", path, version));
}

bool begins_as_sqlite(const std::string& path) {
  std::array<char, 16> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return std::string_view(head.data(), head.size()) == std::string_view("SQLite format 3", 16);
}

}  // namespace

Database TraceReader::open_checked(const std::string& path, std::map<std::string, std::string, std::less<>>& torn) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw IoError(fmt::format("{}: a folder, not a trace", path));
  if (std::filesystem::exists(path, error) && std::filesystem::file_size(path, error) == 0)
    throw IoError(fmt::format("{}: not a trace: the file is empty", path));
  try {
    Database database(path, OpenMode::kRead);
    check_kind(database, path);
    // SQLite takes what lacks of the last page for zeros.
    const std::int64_t bytes = database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
    if (std::int64_t(std::filesystem::file_size(path, error)) < bytes) torn["file"] = "its last page is not whole";
    return database;
  } catch (const CorruptFile& damage) {
    try {
      Database cut(path, OpenMode::kReadCut);
      check_kind(cut, path);
      cut.integer("SELECT count(*) FROM sqlite_schema");
      torn["file"] = "it is shorter than its header says";
      return cut;
    } catch (const CorruptFile&) {
      if (auto regrown = regrow(path)) {
        torn["file"] = regrown->missing;
        return std::move(regrown->database);
      }
      if (!begins_as_sqlite(path)) throw CorruptFile(fmt::format("{}: not a trace: it is no SQLite file", path));
      throw CorruptFile(fmt::format("{}: not a trace, or one of which not even the list of tables can be read ({})", path, damage.what()));
    }
  }
}

Database TraceReader::open(const std::string& path) {
  std::map<std::string, std::string, std::less<>> torn;
  return open_checked(path, torn);
}

TraceReader::TraceReader(std::string path) : database_(open_checked(path, torn_)) {
  version_ = database_.integer("PRAGMA user_version");
  strings_.resize(1);
  sites_.resize(1);
  read_meta();
  read_words();
}

void TraceReader::guarded(std::string_view table, const std::function<void()>& read) {
  try {
    read();
  } catch (const IoError& error) {
    // Of a file that is cut off the reason is known; the message would name a copy of it that nobody has.
    torn_.emplace(table, torn_.contains("file") ? "part of it lies beyond the cut" : error.what());
  }
}

void TraceReader::read_meta() {
  guarded("meta", [&] {
    Statement row(database_, "SELECT key, value FROM meta");
    while (row.step()) meta_.emplace(row.text(0), row.text(1));
  });
}

void TraceReader::read_words() {
  // An id beyond this would come from damage alone.
  constexpr std::int64_t kIdMax = std::int64_t(1) << 28;
  guarded("strings", [&] {
    Statement row(database_, "SELECT id, text FROM strings ORDER BY id");
    while (row.step()) {
      const std::int64_t id = row.integer(0);
      if (id < 1 || id > kIdMax) throw IoError(fmt::format("strings has id {}", id));
      strings_.resize(std::size_t(id) + 1);
      strings_.back() = row.text(1);
    }
  });
  guarded("sites", [&] {
    Statement row(database_, "SELECT id, file, function, line, statement, pointer FROM sites ORDER BY id");
    while (row.step()) {
      const std::int64_t id = row.integer(0);
      if (id < 1 || id > kIdMax) throw IoError(fmt::format("sites has id {}", id));
      sites_.resize(std::size_t(id) + 1);
      sites_.back() = {text(row.integer(1)), text(row.integer(2)), text(row.integer(5)), int(row.integer(3)), int(row.integer(4))};
    }
  });
}

std::string TraceReader::meta(std::string_view key) const {
  const auto found = meta_.find(key);
  return found == meta_.end() ? std::string() : found->second;
}

std::int64_t TraceReader::meta_integer(std::string_view key, std::int64_t fallback) const {
  const std::string value = meta(key);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? number : fallback;
}

std::string_view TraceReader::text(Id string) const {
  return string > 0 && std::size_t(string) < strings_.size() ? std::string_view(strings_[std::size_t(string)]) : std::string_view();
}

const SiteRow& TraceReader::site(Id id) const { return sites_[id > 0 && std::size_t(id) < sites_.size() ? std::size_t(id) : 0]; }

std::vector<ProcessRow> TraceReader::processes() {
  std::vector<ProcessRow> rows;
  guarded("processes", [&] {
    Statement row(database_,
                  "SELECT process, pid, host, state, exit_code, signal, error, place, statement, doing, issued, matched, first_ns, "
                  "last_ns, closed FROM processes ORDER BY process");
    while (row.step())
      rows.push_back({int(row.integer(0)), row.integer(1), std::string(row.text(2)), ProcessState(row.integer(3)), int(row.integer(4)),
                      int(row.integer(5)), std::string(row.text(6)), std::string(row.text(7)), int(row.integer(8)),
                      std::string(row.text(9)), row.integer(10), row.integer(11), time_at(row, 12), time_at(row, 13),
                      row.integer(14) != 0});
  });
  return rows;
}

std::vector<DeviceRow> TraceReader::devices() {
  std::vector<DeviceRow> rows;
  guarded("devices", [&] {
    Statement row(database_, "SELECT ordinal, process, local_index, kind, name FROM devices ORDER BY ordinal");
    while (row.step())
      rows.push_back({int(row.integer(0)), int(row.integer(1)), int(row.integer(2)), std::string(row.text(3)), std::string(row.text(4))});
  });
  return rows;
}

std::vector<TrackRow> TraceReader::tracks() {
  std::vector<TrackRow> rows;
  guarded("tracks", [&] {
    Statement row(database_,
                  "SELECT id, kind, process, device, batch_track, name, event_count, first_ns, last_ns, busy_ns, error_count, "
                  "open_count FROM tracks ORDER BY id");
    while (row.step())
      rows.push_back({row.integer(0), TrackKind(row.integer(1)), int(row.integer(2)), row.is_null(3) ? -1 : int(row.integer(3)),
                      row.integer(4), std::string(row.text(5)), row.integer(6), time_at(row, 7), time_at(row, 8), row.integer(9),
                      row.integer(10), row.integer(11)});
  });
  return rows;
}

CollectiveShape TraceReader::shape_at(const Statement& row, int c) const {
  const auto word = [&](int column) { return text(row.integer(column)); };
  return {word(c),     word(c + 1), word(c + 2),  word(c + 3),  word(c + 4),  word(c + 5),        row.integer(c + 6), row.integer(c + 7),
          word(c + 8), word(c + 9), word(c + 10), word(c + 11), word(c + 12), row.integer(c + 13)};
}

namespace {
constexpr std::string_view kShapeColumns =
    "kind, groups, pairs, axes, dtype, shape, bytes, wire_bytes, reduction, op, cause, sharding_before, sharding_after, site";
}

std::vector<ProgramRow> TraceReader::programs() {
  std::vector<ProgramRow> rows;
  std::map<Id, std::size_t> index;
  guarded("programs", [&] {
    Statement row(database_, fmt::format("SELECT id, fingerprint, name, text, mesh, devices, processes, {} FROM programs ORDER BY id",
                                         version_ >= 1 ? "intermediate_bytes" : "0"));
    while (row.step()) {
      rows.push_back({row.integer(0),
                      std::uint64_t(row.integer(1)),
                      std::string(row.text(2)),
                      std::string(row.text(3)),
                      std::string(row.text(4)),
                      parse_int_list(row.text(5)),
                      parse_int_list(row.text(6)),
                      {},
                      {},
                      row.integer(7)});
      index[row.integer(0)] = rows.size() - 1;
    }
  });
  guarded("program_values", [&] {
    Statement row(database_, "SELECT program, role, name, dtype, shape, sharding FROM program_values ORDER BY program, role, position");
    while (row.step())
      if (const auto program = index.find(row.integer(0)); program != index.end())
        rows[program->second].values.push_back({row.integer(1) != 0, std::string(row.text(2)), std::string(row.text(3)),
                                                std::string(row.text(5)), parse_int64_list(row.text(4))});
  });
  guarded("program_collectives", [&] {
    Statement row(database_, fmt::format("SELECT program, {} FROM program_collectives ORDER BY program, call", kShapeColumns));
    while (row.step())
      if (const auto program = index.find(row.integer(0)); program != index.end())
        rows[program->second].collectives.push_back(shape_at(row, 1));
  });
  return rows;
}

void TraceReader::visit_since(const Growth* since, std::string_view table, std::string_view key, std::string_view columns,
                              const std::function<void(const Statement&)>& visit) {
  const auto comma = key.find(", ");
  const bool within = comma != std::string_view::npos;
  const std::string_view first = key.substr(0, comma), second = within ? key.substr(comma + 2, key.find(", ", comma + 2) - comma - 2) : "";
  const std::string where = within ? fmt::format("{} = ? AND {} >= ?", first, second) : fmt::format("{} >= ?", first);
  guarded(table, [&] {
    Statement row(database_,
                  fmt::format("SELECT {} FROM {}{}{} ORDER BY {}", columns, table, since ? " WHERE " : "", since ? where : "", key));
    if (!since)
      while (row.step()) visit(row);
    if (!since || !since->from.contains(table)) return;
    for (const auto& [of, least] : since->from.find(table)->second) {
      row.reset();
      within ? row.bind(of, least) : row.bind(least);
      while (row.step()) visit(row);
    }
  });
}

std::vector<LaunchRow> TraceReader::launches(const Growth* since) {
  std::vector<LaunchRow> rows;
  visit_since(since, "launches", "process, launch",
              fmt::format("process, launch, seq, program, site, issued_ns, started_ns, done_ns, status, {}", version_ >= 2 ? "frame" : "0"),
              [&](const Statement& row) {
                rows.push_back({int(row.integer(0)), row.integer(1), row.integer(2), row.integer(3), row.integer(4), row.integer(5),
                                time_at(row, 6), time_at(row, 7), MemberStatus(row.integer(8)), row.integer(9)});
              });
  return rows;
}

std::vector<CollectiveRow> TraceReader::collectives(const Growth* since) {
  std::vector<CollectiveRow> rows;
  visit_since(since, "collectives", "id",
              fmt::format("id, seq, program, call, launch, state, first_ns, last_ns, diagnosis, {}", kShapeColumns),
              [&](const Statement& row) {
                rows.push_back({row.integer(0),
                                row.integer(1),
                                row.integer(2),
                                int(row.integer(3)),
                                row.integer(4),
                                shape_at(row, 9),
                                MatchState(row.integer(5)),
                                time_at(row, 6),
                                time_at(row, 7),
                                row.integer(8),
                                {}});
              });
  read_members(rows, since);
  return rows;
}

void TraceReader::read_members(std::vector<CollectiveRow>& collectives, const Growth* since) {
  guarded("members", [&] {
    Statement row(database_,
                  "SELECT collective, process, device, launch, site, issued_ns, start_ns, wait_ns, end_ns, moved_bytes, status "
                  "FROM members WHERE collective >= ? ORDER BY collective, process, device");
    row.bind(first_read(collectives, since));
    std::size_t at = 0;  // both come in order of the collective's id
    while (row.step()) {
      while (at < collectives.size() && collectives[at].id < row.integer(0)) ++at;
      if (at == collectives.size()) return;
      if (collectives[at].id != row.integer(0)) continue;
      collectives[at].members.push_back({int(row.integer(1)), int(row.integer(2)), row.integer(3), row.integer(4), row.integer(5),
                                         time_at(row, 6), time_at(row, 7), time_at(row, 8), row.integer(9), MemberStatus(row.integer(10))});
    }
  });
}

void TraceReader::for_each_event(Id track, const std::function<bool(const EventRow&)>& visit) {
  guarded("events", [&] {
    Statement row(database_,
                  "SELECT track, time_ns, seq, duration_ns, kind, name, collective, launch, site, flags FROM events "
                  "WHERE track = ? ORDER BY time_ns, seq");
    row.bind(track);
    visit_events(row, visit);
  });
}

void TraceReader::for_each_event(Id track, Ns begin_ns, Ns end_ns, const std::function<bool(const EventRow&)>& visit) {
  guarded("events", [&] {
    Statement row(database_,
                  "SELECT track, time_ns, seq, duration_ns, kind, name, collective, launch, site, flags FROM events "
                  "WHERE track = ? AND time_ns >= ? AND time_ns < ? ORDER BY time_ns, seq");
    row.bind(track, begin_ns, end_ns);
    visit_events(row, visit);
  });
}

const std::string_view TraceReader::kEventCoreSql =
    "SELECT time_ns, duration_ns, kind, name, collective, site, flags, launch FROM events WHERE track = ? AND time_ns >= ? ORDER BY "
    "time_ns, seq";

EventPages* TraceReader::event_pages() {
  // What is torn is left to SQLite, which finds its way around more kinds of damage.
  if (!event_pages_) event_pages_ = torn() ? nullptr : EventPages::open(database_);
  return event_pages_->get();
}

void TraceReader::visit_events(Statement& row, const std::function<bool(const EventRow&)>& visit) {
  while (row.step()) {
    const EventRow event{row.integer(0),
                         row.integer(1),
                         row.integer(2),
                         time_at(row, 3),
                         EventKind(row.integer(4)),
                         text(row.integer(5)),
                         row.integer(6),
                         row.is_null(7) ? -1 : row.integer(7),
                         row.integer(8),
                         std::uint32_t(row.integer(9))};
    if (!visit(event)) return;
  }
}

}  // namespace shardlab::traces
