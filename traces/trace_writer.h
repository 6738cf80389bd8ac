// Writes a trace: one transaction, rows in, ids out; the file appears under its name only when it is whole.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "traces/database.h"
#include "traces/epochs.h"
#include "traces/growth.h"
#include "traces/rows.h"
#include "traces/schema.h"

namespace shardlab::traces {

constexpr int kSmallPages = 4096, kLargePages = 16384;

// How the file comes to be.
enum class Writing : std::uint8_t {
  kWhole,    // once, under its name only when it is whole
  kGrowing,  // in place and again and again, for a reader that asks between two times
};

// Rows may come in any order; those of big tables (events, members) go in fastest in the order of their keys. Strings,
// sites and frames are interned. Nothing is visible under `path` before finish(); without it the file is removed. One thread at a time.
//
// A growing trace: rows that stand for good, begin_provisional(), rows that may still change, publish(); and from resume() the same again.
// resume() takes the provisional rows back; strings, sites, frames and tracks stay. So a time costs what is new and what is open, not the
// whole. publish() tells readers under Growth::kMetaKey what came and went since the one before.
class TraceWriter {
 public:
  // Writes to `path` + ".writing". `page_bytes` is a power of two from 512 to 65536: small pages keep the file of a small run
  // small (some forty tables take a page each), large ones make scans of millions of rows faster. Throws IoError.
  explicit TraceWriter(std::string path, int page_bytes = kLargePages, Writing writing = Writing::kWhole);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void meta(std::string_view key, std::string_view value);
  Id string(std::string_view text);  // 0 for ""
  Id site(const SiteRow& site);      // 0 for an unknown one
  Id frame(const FrameRow& frame);   // its parent comes first

  void add(const ProcessRow& row);
  void add(const DeviceRow& row);
  void add(const EpochRow& row);
  Id add(const ProgramRow& row);  // row.id is ignored here and below where an Id is returned
  void add(const LaunchRow& row);
  Id add(const CollectiveRow& row);  // with its members
  void add(const WaitEdgeRow& row);
  Id add(const MeshRow& row);
  Id add(const LayoutRow& row);  // with its shards
  Id add(const ArrayRow& row);
  void add(const ArrayHolderRow& row);
  void add(const ArrayEndRow& row);
  void add(const LaunchArrayRow& row);
  void add(const ChecksumRow& row);
  void add(const HostReadRow& row);
  // `collectives`: per participant the recorded collective that it names, 0 for none; may be shorter.
  Id add(const Diagnosis& row, const std::vector<Id>& collectives = {});
  void add(const Evidence& evidence);
  void add(const DroppedRow& row);
  void add(const ImportLogRow& row);

  // Tracks come first, with what identifies them; their summaries are computed from the events at finish().
  Id add_track(const TrackRow& row);
  void add(const EventRow& row);  // seq is assigned

  // Writes the summaries, commits, checks nothing is left open, renames. Throws IoError.
  void finish();

  void begin_provisional();
  void publish();
  void resume();
  std::int64_t rows_written() const { return rows_written_; }

 private:
  // A row to take back: its table and the values of its key.
  struct Provisional {
    const TableDef* table;
    std::vector<std::int64_t> key;
  };
  // What counts rows, as it was before the provisional ones.
  struct Counts {
    std::map<std::string, Id, std::less<>> next_id;
    std::vector<TrackRow> tracks;
    std::vector<std::int64_t> event_count;
  };
  void take_back(const Provisional& row);
  const std::vector<std::size_t>& key_columns(const TableDef& table);
  void note_change(const Provisional& row);
  Statement& insert(std::string_view table);
  template <typename... Values>
  void put(std::string_view table, const Values&... values);
  const std::vector<int>& devices_in(const CollectiveShape& what);
  void summarise(const EventRow& row, TrackRow& track);
  void write_tracks();

  std::string path_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Transaction> transaction_;
  std::map<std::string, std::unique_ptr<Statement>, std::less<>> inserts_;
  std::map<std::string, Id, std::less<>> next_id_;
  std::unordered_map<std::string, Id> strings_;
  std::map<std::tuple<Id, Id, Id, int, int>, Id> sites_;
  std::map<std::tuple<Id, Id, Id, int>, Id> frames_;
  std::vector<TrackRow> tracks_;                                // by id - 1
  std::vector<std::int64_t> event_count_;                       // of each track's own rows
  std::map<int, std::vector<std::size_t>> batched_tracks_;      // batch track -> its device tracks, as indices of tracks_
  std::map<std::pair<Id, Id>, std::vector<int>> device_lists_;  // (groups, pairs) -> ordinals
  std::vector<const std::vector<int>*> devices_of_collective_;  // by id
  std::map<std::pair<int, Ns>, int> reads_at_;                  // host reads of one process and time
  std::int64_t rows_written_ = 0;
  bool growing_ = false, provisional_ = false;
  std::vector<Provisional> provisional_rows_;
  std::map<const TableDef*, std::unique_ptr<Statement>> deletes_;
  std::map<const TableDef*, std::vector<std::size_t>> key_columns_;
  Growth growth_;  // since the last publication
  Counts before_provisional_;
  bool finished_ = false;
};

}  // namespace shardlab::traces
