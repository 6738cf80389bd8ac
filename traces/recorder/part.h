// One process's part of a trace: its records in an SQLite file, appended in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "traces/database.h"
#include "traces/recorder/ring.h"

namespace shardlab::recorder {

// "part-3.db" and "ring-3.ring" in the job's directory; of a process of an elastic job that was started again "part-3.1.db", and so on.
std::string part_path(const std::string& directory, int process, int incarnation = 0);
std::string ring_path(const std::string& directory, int process, int incarnation = 0);
// How many incarnations of the process have recorded there.
int recorded_incarnations(const std::string& directory, int process);

// Whether the process that wrote the part ended its record in order. False where there is no such file, or it cannot be read now.
bool is_part_closed(const std::string& path);

// Makes the folder that a job is to record into. Throws IoError where it cannot be made, or has anything in it.
void make_parts_folder(const std::string& directory);

// Why no trace can be written to that file, where that is plain before anything is recorded; otherwise empty.
std::string why_not_writable(const std::string& trace);

// Moves what a ring holds into a part. One thread at a time.
class PartWriter {
 public:
  // Makes the file, or goes on with one that is there. Throws IoError.
  PartWriter(const std::string& path, int process, std::int64_t pid);
  // One transaction: the ring's committed records, at most `limit`, and what it dropped since the last call as a row. The ring's
  // room is given back only after the commit. Returns the number of records. Throws IoError; the records then stay in the ring.
  std::size_t append(RingFile& ring, RingReader& reader, Writers writers, std::size_t limit = 65536);
  void add_dropped(std::int64_t count, std::int64_t bytes, std::string_view reason);
  void set_meta(std::string_view key, std::string_view value);

 private:
  traces::Database database_;
  traces::Statement insert_record_, insert_dropped_;
  std::uint64_t dropped_records_ = 0, dropped_bytes_ = 0;  // of the ring, told so far
  std::uint64_t torn_records_ = 0, torn_bytes_ = 0;
};

struct DrainResult {
  std::size_t records = 0;         // moved now
  std::uint64_t torn_records = 0;  // begun and never finished: the process died while it wrote them
  std::string text() const;        // "drained 12 records, 1 torn"
};

// Moves what a dead process left in its ring into its part, which is made where it is missing. May be repeated. Throws IoError
// where the ring cannot be read or the part not be written.
DrainResult drain_ring_into_part(const std::string& ring_file, const std::string& part_file);

}  // namespace shardlab::recorder
