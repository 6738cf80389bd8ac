// Reads a trace: typed rows for the window, the reports and the tests. Never writes to the file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/database.h"
#include "traces/event_pages.h"
#include "traces/growth.h"
#include "traces/rows.h"

namespace shardlab::traces {

// Rows come whole vectors at a time, or one by one where there may be millions (events, collectives). Text in rows is
// borrowed from the reader. A torn file gives what can be read: what is missing is told in notices(), nothing throws for it.
// One thread at a time; several readers may be open on one file. With `since` a reader gives of a trace that grows only the rows that
// growth() tells of: those from Growth::least() on.
class TraceReader {
 public:
  // Reads meta, strings and sites. Throws IoError where there is no such file, it is not a trace (says what it is instead, where
  // that is known), it is of a newer schema, or so damaged that not even its list of tables can be read.
  explicit TraceReader(std::string path);
  // The file alone, for questions in SQL: also a torn one. Throws as above.
  static Database open(const std::string& path);

  const std::string& path() const { return database_.path(); }
  // What came and went since the publication before; none (0) where the trace does not grow.
  Growth growth() const { return Growth::from_json(meta(Growth::kMetaKey)); }
  // "" where the key is absent.
  std::string meta(std::string_view key) const;
  std::int64_t meta_integer(std::string_view key, std::int64_t fallback = 0) const;

  std::string_view text(Id string) const;
  const SiteRow& site(Id id) const;  // an unknown one for 0 and for ids that are missing
  // By id; index 0 is the unknown site.
  const std::vector<SiteRow>& sites() const { return sites_; }

  std::vector<ProcessRow> processes();
  std::vector<DeviceRow> devices();
  std::vector<TrackRow> tracks();
  std::vector<ProgramRow> programs();                                     // with values and collectives
  std::vector<LaunchRow> launches(const Growth* since = nullptr);         // by process, then launch
  std::vector<CollectiveRow> collectives(const Growth* since = nullptr);  // by id, with members
  std::vector<WaitEdgeRow> wait_edges(const Growth* since = nullptr);     // by process, then begin
  std::vector<MeshRow> meshes();
  std::vector<LayoutRow> layouts(const Growth* since = nullptr);  // by id, with shards
  std::vector<ArrayRow> arrays(const Growth* since = nullptr);    // by id
  // Whether the trace has when arrays end: older ones do not, and the two below give nothing.
  bool has_array_ends() const { return version_ >= 1; }
  std::vector<ArrayHolderRow> array_holders();  // by array, then process
  std::vector<ArrayEndRow> array_ends();        // the same
  // Whether it has which arrays launches took and gave: older ones do not. By process, launch, role, position.
  bool has_launch_arrays() const { return version_ >= 3; }
  std::vector<LaunchArrayRow> launch_arrays(const Growth* since = nullptr);
  std::vector<ChecksumRow> checksums();  // the same, then device; none of a run that was not asked for them
  std::vector<FrameRow> frames();        // by id: parents come first
  std::vector<HostReadRow> host_reads(const Growth* since = nullptr);
  std::vector<Diagnosis> diagnoses();  // with participants, in the order of their ids: index i has id i + 1
  // Beside diagnoses(): per participant the recorded collective that it names, 0 for none.
  std::vector<std::vector<Id>> participant_collectives();
  std::vector<DroppedRow> dropped();
  std::vector<ImportLogRow> import_log();
  // The ledger's last state; nothing where the run had no coordinator. Stored as checks/evidence_json.h has it.
  std::optional<Evidence> evidence();

  // In order of time; return false to stop. Events that begin before `begin_ns` but reach into the range are not found.
  void for_each_event(Id track, const std::function<bool(const EventRow&)>& visit);
  void for_each_event(Id track, Ns begin_ns, Ns end_ns, const std::function<bool(const EventRow&)>& visit);

  // The same for millions of rows: bare ids and integers, past SQL where the file allows it. `visit` is bool(const EventCore&).
  template <typename Visit>
  void scan_events(Id track, const Visit& visit) {
    scan_events(track, std::numeric_limits<Ns>::min(), visit);
  }
  // Those that begin at `begin_ns` or later.
  template <typename Visit>
  void scan_events(Id track, Ns begin_ns, const Visit& visit) {
    guarded("events", [&] {
      const ReadTransaction still(database_);
      if (EventPages* pages = event_pages()) return pages->scan(track, begin_ns, visit);
      scan_event_rows(track, begin_ns, visit);
    });
  }

  // What is missing and why, in whole sentences, one a finding: torn tables met so far, dropped records, import log errors.
  std::vector<std::string> notices();
  // True as soon as a read met damage.
  bool torn() const { return !torn_.empty(); }
  // Reads every table and returns torn(): for tools that want to know at once.
  bool check_whole();

 private:
  static Ns time_at(const Statement& row, int column) { return row.is_null(column) ? kNoTime : row.integer(column); }
  template <typename Visit>
  void scan_event_rows(Id track, Ns begin_ns, const Visit& visit) {
    Statement row(database_, kEventCoreSql);
    row.bind(track, begin_ns);
    while (row.step())
      if (!visit(EventCore{row.integer(0), time_at(row, 1), EventKind(row.integer(2)), row.integer(3), row.integer(4), row.integer(5),
                           std::uint32_t(row.integer(6)), row.is_null(7) ? -1 : row.integer(7)}))
        return;
  }
  EventPages* event_pages();  // null where SQL must read

  static const std::string_view kEventCoreSql;
  static Database open_checked(const std::string& path, std::map<std::string, std::string, std::less<>>& torn);
  void read_meta();
  void read_words();
  CollectiveShape shape_at(const Statement& statement, int column) const;
  void read_members(std::vector<CollectiveRow>& collectives, const Growth* since);
  // Where what hangs on `rows` begins.
  template <typename Row>
  static Id first_read(const std::vector<Row>& rows, const Growth* since) {
    return !since ? 0 : rows.empty() ? Growth::kNoRow : rows.front().id;
  }
  // The rows of a table in the order of `key`, "process, launch" or "id"; with `since` those alone that it tells of.
  void visit_since(const Growth* since, std::string_view table, std::string_view key, std::string_view columns,
                   const std::function<void(const Statement&)>& visit);
  void visit_events(Statement& statement, const std::function<bool(const EventRow&)>& visit);
  // Runs `read`, turning damage into a notice on `table`: what was read before it stays.
  void guarded(std::string_view table, const std::function<void()>& read);

  std::map<std::string, std::string, std::less<>> torn_;  // table -> what happened
  Database database_;
  std::int64_t version_ = 0;  // of the schema
  std::optional<std::unique_ptr<EventPages>> event_pages_;
  std::map<std::string, std::string, std::less<>> meta_;
  std::vector<std::string> strings_;  // by id
  std::vector<SiteRow> sites_;        // by id
};

}  // namespace shardlab::traces
