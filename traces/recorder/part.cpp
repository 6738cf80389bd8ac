#include "traces/recorder/part.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/comm/launch.h"
#include "traces/schema.h"

namespace shardlab::recorder {
namespace {

constexpr std::string_view kRingFull = "the ring was full, or the record larger than half of it";

traces::Database open_part(const std::string& path) {
  const bool there = std::filesystem::exists(path) && std::filesystem::file_size(path) > 0;
  traces::Database database(path, there ? traces::OpenMode::kUpdate : traces::OpenMode::kCreate);
  if (!there) database.execute("PRAGMA page_size = 4096");
  // The kernel keeps what was written when the process dies; only a power cut could lose it.
  database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  // A process may have died between making the file and its tables.
  if (database.integer("SELECT count(*) FROM sqlite_schema") == 0) {
    traces::Transaction transaction(database);
    database.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", traces::kPartApplicationId, traces::kSchemaVersion));
    database.execute(traces::create_schema_sql(traces::part_schema()));
    transaction.commit();
  }
  if (database.integer("PRAGMA application_id") != traces::kPartApplicationId)
    throw IoError(fmt::format("{}: not one process's part of a trace", path));
  return database;
}

}  // namespace

namespace {

std::string file_of(const std::string& directory, std::string_view kind, int process, int incarnation, std::string_view ending) {
  std::string again = incarnation == 0 ? std::string() : fmt::format(".{}", incarnation);
  return fmt::format("{}/{}-{}{}.{}", directory, kind, process, again, ending);
}

}  // namespace

std::string part_path(const std::string& directory, int process, int incarnation) {
  return file_of(directory, "part", process, incarnation, "db");
}
std::string ring_path(const std::string& directory, int process, int incarnation) {
  return file_of(directory, "ring", process, incarnation, "ring");
}

int recorded_incarnations(const std::string& directory, int process) {
  auto there = [&](int n) {
    return std::filesystem::exists(part_path(directory, process, n)) || std::filesystem::exists(ring_path(directory, process, n));
  };
  int count = 0;
  while (there(count)) ++count;
  return count;
}

bool is_part_closed(const std::string& path) {
  if (!std::filesystem::exists(path)) return false;
  try {
    traces::Database database(path, traces::OpenMode::kRead);
    return database.integer("SELECT count(*) FROM meta WHERE key = 'closed' AND value = '1'") > 0;
  } catch (const IoError&) { return false; }
}

void make_parts_folder(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw IoError(fmt::format("{}: cannot be made: {}", directory, error.message()));
  if (!std::filesystem::is_empty(directory, error))
    throw IoError(fmt::format("{}: a job records into a folder of its own, and this one {}", directory,
                              error ? "cannot be read: " + error.message() : "is not empty"));
}

std::string why_not_writable(const std::string& trace) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(trace, error), folder = file.parent_path();
  if (std::filesystem::is_directory(file, error)) return "it is a folder";
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : fmt::format("{}: {}", folder.string(), std::strerror(errno));
}

// A record that was committed to the part but not yet released in the ring when its process died comes twice.
PartWriter::PartWriter(const std::string& path, int process, std::int64_t pid)
    : database_(open_part(path)),
      insert_record_(database_, "INSERT OR IGNORE INTO records(position, type, body) VALUES(?, ?, ?)"),
      insert_dropped_(database_, "INSERT INTO dropped(time_ns, count, bytes, reason) VALUES(?, ?, ?, ?)") {
  set_meta("process", std::to_string(process));
  set_meta("pid", std::to_string(pid));
  traces::Statement told(database_, "SELECT coalesce(sum(count), 0), coalesce(sum(bytes), 0) FROM dropped WHERE reason = ?");
  told.bind(kRingFull).step();
  dropped_records_ = std::uint64_t(told.integer(0));
  dropped_bytes_ = std::uint64_t(told.integer(1));
}

void PartWriter::set_meta(std::string_view key, std::string_view value) {
  traces::Statement(database_, "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)").run_with(key, value);
}

void PartWriter::add_dropped(std::int64_t count, std::int64_t bytes, std::string_view reason) {
  insert_dropped_.run_with(comm::now_ns(), count, bytes, reason);
}

std::size_t PartWriter::append(RingFile& ring, RingReader& reader, Writers writers, std::size_t limit) {
  const std::uint64_t dropped = ring.dropped_records(), dropped_bytes = ring.dropped_bytes();
  if (ring.head() == ring.tail() && dropped == dropped_records_) return 0;
  std::size_t count = 0;
  try {
    traces::Transaction transaction(database_);
    count = reader.read(
        writers,
        [&](const RingRecord& record) { insert_record_.run_with(std::int64_t(record.position), std::int64_t(record.type), record.body); },
        limit);
    if (dropped > dropped_records_)
      add_dropped(std::int64_t(dropped - dropped_records_), std::int64_t(dropped_bytes - dropped_bytes_), kRingFull);
    if (reader.torn_records() > torn_records_)
      add_dropped(std::int64_t(reader.torn_records() - torn_records_), std::int64_t(reader.torn_bytes() - torn_bytes_),
                  "cut off by the process's death");
    transaction.commit();
  } catch (...) {
    reader.rewind();
    throw;
  }
  reader.release();
  dropped_records_ = dropped;
  dropped_bytes_ = dropped_bytes;
  torn_records_ = reader.torn_records();
  torn_bytes_ = reader.torn_bytes();
  return count;
}

std::string DrainResult::text() const {
  return fmt::format("drained {} record{}{}", records, records == 1 ? "" : "s", torn_records ? fmt::format(", {} torn", torn_records) : "");
}

DrainResult drain_ring_into_part(const std::string& ring_file, const std::string& part_file) {
  RingFile ring = RingFile::open(ring_file);
  PartWriter part(part_file, ring.process(), ring.pid());
  RingReader reader(ring);
  DrainResult result;
  while (ring.head() != ring.tail()) result.records += part.append(ring, reader, Writers::kDead);
  part.append(ring, reader, Writers::kDead);  // what was dropped at the very end
  result.torn_records = reader.torn_records();
  return result;
}

}  // namespace shardlab::recorder
