#include "traces/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "traces/checks/evidence_json.h"
#include "traces/report_json.h"

namespace shardlab::traces {
namespace {

// A time that may be NULL, an id that may be.
struct OrNull {
  std::int64_t value;
  bool null;
};
OrNull time(Ns ns) { return {ns, ns == kNoTime}; }
OrNull id(Id value) { return {value, value == 0}; }
OrNull number(std::int64_t value) { return {value, value < 0}; }

template <typename Value>
void bind_value(Statement& statement, int index, const Value& value) {
  if constexpr (std::is_same_v<Value, OrNull>) {
    if (value.null)
      statement.bind_one(index, nullptr);
    else
      statement.bind_one(index, value.value);
  } else if constexpr (std::is_enum_v<Value>) {
    statement.bind_one(index, std::int64_t(value));
  } else {
    statement.bind_one(index, value);
  }
}

}  // namespace

TraceWriter::TraceWriter(std::string path, int page_bytes, Writing writing)
    : path_(std::move(path)), growing_(writing == Writing::kGrowing) {
  growth_.made = std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  database_ = std::make_unique<Database>(growing_ ? path_ : path_ + ".writing", OpenMode::kCreate);
  // A trace is made once from evidence that is kept beside it, so a crash here loses nothing: no journal, no sync.
  database_->execute(fmt::format("PRAGMA page_size = {}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", page_bytes));
  database_->execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kTraceApplicationId, kSchemaVersion));
  transaction_ = std::make_unique<Transaction>(*database_);
  database_->execute(create_schema_sql(trace_schema()));
  meta("schema_version", std::to_string(kSchemaVersion));
}

TraceWriter::~TraceWriter() {
  if (finished_ || growing_) return;
  inserts_.clear();
  transaction_.reset();
  database_.reset();
  std::remove((path_ + ".writing").c_str());
}

Statement& TraceWriter::insert(std::string_view table) {
  auto found = inserts_.find(table);
  if (found == inserts_.end()) {
    const TableDef* definition = trace_schema().table(table);
    SL_CHECK(definition, "no table {} in the schema", table);
    found = inserts_.emplace(table, std::make_unique<Statement>(*database_, insert_sql(*definition))).first;
  }
  return *found->second;
}

// Keys of the tables are integers; text stands for none.
template <typename Value>
std::int64_t key_value(const Value& value) {
  if constexpr (std::is_same_v<Value, OrNull>)
    return value.value;
  else if constexpr (std::is_enum_v<Value> || std::is_integral_v<Value>)
    return std::int64_t(value);
  else
    return 0;
}

const std::vector<std::size_t>& TraceWriter::key_columns(const TableDef& table) {
  const auto [found, added] = key_columns_.try_emplace(&table);
  std::vector<std::size_t>& columns = found->second;
  if (!added) return columns;
  for (std::size_t at = 0; at < table.primary_key.size();) {
    const std::size_t end = std::min(table.primary_key.find(", ", at), table.primary_key.size());
    const std::string_view name = table.primary_key.substr(at, end - at);
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (table.columns[c].name == name) columns.push_back(c);
    at = end + 2;
  }
  return columns;
}

template <typename... Values>
void TraceWriter::put(std::string_view table, const Values&... values) {
  const TableDef& definition = *trace_schema().table(table);
  SL_CHECK(definition.columns.size() == sizeof...(values), "table {}", table);
  Statement& statement = insert(table);
  int index = 0;
  (bind_value(statement, ++index, values), ...);
  statement.run();
  ++rows_written_;
  if (!growing_ || table == "strings" || table == "sites" || table == "frames") return;
  const std::int64_t all[] = {key_value(values)...};
  Provisional row{.table = &definition, .key = {}};
  for (const std::size_t column : key_columns(definition)) row.key.push_back(all[column]);
  note_change(row);
  if (provisional_) provisional_rows_.push_back(std::move(row));
}

// Rows have an id, or are in an order of their own within a track or process, which comes first in the key.
void TraceWriter::note_change(const Provisional& row) {
  if (!grows(row.table->name)) return;
  const bool within = row.key.size() > 1;
  auto& keys = growth_.from[std::string(row.table->name)];
  std::int64_t& least = keys.try_emplace(within ? row.key[0] : 0, Growth::kNoRow).first->second;
  least = std::min(least, row.key[within ? 1 : 0]);
}

void TraceWriter::meta(std::string_view key, std::string_view value) {
  Statement statement(*database_, "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)");
  statement.run_with(key, value);
}

Id TraceWriter::string(std::string_view text) {
  if (text.empty()) return 0;
  auto [found, added] = strings_.try_emplace(std::string(text), Id(strings_.size()) + 1);
  if (added) put("strings", found->second, text);
  return found->second;
}

Id TraceWriter::site(const SiteRow& site) {
  if (!site.known()) return 0;
  const Id file = string(site.file), function = string(site.function), pointer = string(site.pointer);
  auto [found, added] = sites_.try_emplace({file, function, pointer, site.line, site.statement}, Id(sites_.size()) + 1);
  if (added) put("sites", found->second, file, function, site.line, site.statement, pointer);
  return found->second;
}

Id TraceWriter::frame(const FrameRow& frame) {
  const Id function = string(frame.function), file = string(frame.file);
  auto [found, added] = frames_.try_emplace({frame.parent, function, file, frame.line}, Id(frames_.size()) + 1);
  if (added) put("frames", found->second, frame.parent, function, file, frame.line);
  return found->second;
}

void TraceWriter::add(const ProcessRow& row) {
  put("processes", row.process, row.pid, row.host, row.state, row.exit_code, row.signal, row.error, row.place, row.statement, row.doing,
      row.issued, row.matched, time(row.first_ns), time(row.last_ns), row.closed);
}

void TraceWriter::add(const DeviceRow& row) { put("devices", row.ordinal, row.process, row.local_index, row.kind, row.name); }

Id TraceWriter::add(const ProgramRow& row) {
  const Id program = ++next_id_["programs"];
  put("programs", program, std::int64_t(row.fingerprint), row.name, row.text, row.mesh, json_list(row.devices), json_list(row.processes),
      row.intermediate_bytes);
  int positions[2] = {0, 0};
  for (const auto& value : row.values)
    put("program_values", program, value.is_result, positions[value.is_result]++, value.name, value.dtype, json_list(value.shape),
        value.sharding);
  int call = 0;
  for (const auto& what : row.collectives)
    put("program_collectives", program, call++, string(what.kind), string(what.groups), string(what.pairs), string(what.axes),
        string(what.dtype), string(what.shape), what.bytes, what.wire_bytes, string(what.reduction), string(what.op), string(what.cause),
        string(what.sharding_before), string(what.sharding_after), what.site);
  return program;
}

void TraceWriter::add(const EpochRow& row) {
  put("epochs", row.epoch, row.first_ns, json_list(row.live), json_list(row.gone), json_list(row.came));
}

void TraceWriter::add(const LaunchRow& row) {
  put("launches", row.process, row.launch, row.seq, row.program, row.site, row.issued_ns, time(row.started_ns), time(row.done_ns),
      row.status, row.frame);
}

const std::vector<int>& TraceWriter::devices_in(const CollectiveShape& what) {
  auto [found, added] = device_lists_.try_emplace({string(what.groups), string(what.pairs)});
  if (added) found->second = devices_of(what);
  return found->second;
}

Id TraceWriter::add(const CollectiveRow& row) {
  const Id collective = ++next_id_["collectives"];
  const auto& what = row.what;
  put("collectives", collective, row.seq, row.program, row.call, row.launch, string(what.kind), string(what.groups), string(what.pairs),
      string(what.axes), string(what.dtype), string(what.shape), what.bytes, what.wire_bytes, string(what.reduction), string(what.op),
      string(what.cause), string(what.sharding_before), string(what.sharding_after), what.site, row.state, time(row.first_ns),
      time(row.last_ns), id(row.diagnosis));
  for (const auto& member : row.members)
    put("members", collective, member.process, member.device, member.launch, member.site, member.issued_ns, time(member.start_ns),
        time(member.wait_ns), time(member.end_ns), member.moved_bytes, member.status);
  devices_of_collective_.resize(std::size_t(collective) + 1);
  devices_of_collective_.back() = &devices_in(what);
  return collective;
}

void TraceWriter::add(const WaitEdgeRow& row) { put("wait_edges", row.process, row.begin_ns, row.peer, row.collective, time(row.end_ns)); }

Id TraceWriter::add(const MeshRow& row) {
  const Id mesh = ++next_id_["meshes"];
  put("meshes", mesh, row.text);
  int position = 0;
  for (const auto& [name, size] : row.axes) put("mesh_axes", mesh, position++, name, size);
  position = 0;
  for (int device : row.devices) put("mesh_devices", mesh, position++, device);
  return mesh;
}

Id TraceWriter::add(const LayoutRow& row) {
  const Id layout = ++next_id_["layouts"];
  std::string axes = "[";
  for (const auto& names : row.axes) {
    if (axes.size() > 1) axes += ',';
    axes += json_list(names);
  }
  put("layouts", layout, row.mesh, json_list(row.shape), row.spec, axes + "]");
  for (const auto& shard : row.shards) {
    std::int64_t elements = 1;
    for (const auto& [start, stop] : shard.ranges) elements *= stop - start;
    put("shards", layout, shard.device, shard.replica, elements);
    int dimension = 0;
    for (const auto& [start, stop] : shard.ranges) put("shard_ranges", layout, shard.device, dimension++, start, stop);
  }
  return layout;
}

Id TraceWriter::add(const ArrayRow& row) {
  const Id array = ++next_id_["arrays"];
  put("arrays", array, string(row.name), string(row.dtype), row.layout, row.committed, row.process, number(row.launch), row.site,
      row.time_ns, string(json_list(row.processes)), element_bytes_of(row.dtype));
  return array;
}

void TraceWriter::add(const ArrayHolderRow& row) { put("array_holders", row.array, row.process, time(row.begin_ns)); }
void TraceWriter::add(const ArrayEndRow& row) { put("array_ends", row.array, row.process, row.end_ns, row.donated); }

void TraceWriter::add(const LaunchArrayRow& row) {
  put("launch_arrays", row.process, row.launch, row.is_result, row.position, row.array, row.donated);
}

void TraceWriter::add(const ChecksumRow& row) {
  const Checksum& sum = row.checksum;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  put("checksums", row.array, row.device, row.process, std::int64_t(sum.hash), sum.numbers, sum.nans, sum.infinities,
      sum.any_finite() ? sum.min : kNone, sum.any_finite() ? sum.max : kNone, sum.sum, sum.squares, sum.sketches[0], sum.sketches[1],
      sum.sketches[2], sum.sketches[3]);
}

void TraceWriter::add(const HostReadRow& row) {
  put("host_reads", row.process, row.begin_ns, reads_at_[{row.process, row.begin_ns}]++, time(row.end_ns), string(row.what), row.site);
}

Id TraceWriter::add(const Diagnosis& row, const std::vector<Id>& collectives) {
  const Id diagnosis = ++next_id_["diagnoses"];
  put("diagnoses", diagnosis, row.code, row.severity, row.message, row.explain, json_list(row.processes), row.tie, json_list(row.fields),
      details_to_json(row.details), row.evidence_ns, row.detected_ns);
  for (std::size_t i = 0; i < row.participants.size(); ++i) {
    const auto& side = row.participants[i];
    put("participants", diagnosis, std::int64_t(i), side.process, side.seq, side.kind, side.op, side.where, side.statement, side.sharding,
        side.state, side.shape, side.dtype, side.mesh, json_list(side.devices), id(i < collectives.size() ? collectives[i] : 0));
  }
  return diagnosis;
}

void TraceWriter::add(const Evidence& evidence) { put("evidence", 0, to_json(evidence)); }

void TraceWriter::add(const DroppedRow& row) {
  put("dropped", ++next_id_["dropped"], row.process, time(row.time_ns), row.count, row.bytes, row.reason);
}

void TraceWriter::add(const ImportLogRow& row) {
  put("import_log", ++next_id_["import_log"], number(row.process), row.source, row.severity, row.message);
}

Id TraceWriter::add_track(const TrackRow& row) {
  tracks_.push_back(row);
  tracks_.back().id = Id(tracks_.size());
  event_count_.push_back(0);
  if (row.batch_track != 0) batched_tracks_[int(row.batch_track)].push_back(tracks_.size() - 1);
  return tracks_.back().id;
}

void TraceWriter::summarise(const EventRow& row, TrackRow& track) {
  const bool open = row.duration_ns == kNoTime;
  const Ns end = row.time_ns + (open ? 0 : row.duration_ns);
  ++track.event_count;
  track.first_ns = track.first_ns == kNoTime ? row.time_ns : std::min(track.first_ns, row.time_ns);
  track.last_ns = std::max(track.last_ns, end);
  track.busy_ns += open ? 0 : row.duration_ns;
  track.open_count += open;
  track.error_count += (row.flags & kErrorFlag) != 0;
}

void TraceWriter::add(const EventRow& row) {
  SL_CHECK(row.track >= 1 && row.track <= Id(tracks_.size()), "event on track {}, of {}", row.track, tracks_.size());
  const auto index = std::size_t(row.track - 1);
  const std::uint32_t flags = row.flags | (row.duration_ns == kNoTime ? kNeverEnded : 0u);
  put("events", row.track, row.time_ns, event_count_[index]++, time(row.duration_ns), row.kind, string(row.name), id(row.collective),
      number(row.launch), row.site, std::int64_t(flags));
  summarise(row, tracks_[index]);
  if (!(flags & kBatched)) return;
  const std::vector<int>* only = row.collective > 0 && row.collective < Id(devices_of_collective_.size())
                                     ? devices_of_collective_[std::size_t(row.collective)]
                                     : row.devices;
  for (std::size_t device_track : batched_tracks_[int(row.track)]) {
    TrackRow& track = tracks_[device_track];
    if (!only || std::binary_search(only->begin(), only->end(), track.device)) summarise(row, track);
  }
}

void TraceWriter::write_tracks() {
  for (const auto& track : tracks_)
    put("tracks", track.id, track.kind, track.process, number(track.device), id(track.batch_track), track.name, track.event_count,
        time(track.first_ns), time(track.last_ns), track.busy_ns, track.error_count, track.open_count);
}

void TraceWriter::begin_provisional() {
  provisional_ = true;
  before_provisional_ = {next_id_, tracks_, event_count_};
}

void TraceWriter::publish() {
  write_tracks();
  ++growth_.publication;
  meta(Growth::kMetaKey, growth_.json());
  growth_.from.clear();
  transaction_->commit();
  transaction_.reset();
}

void TraceWriter::resume() {
  if (!transaction_) transaction_ = std::make_unique<Transaction>(*database_);
  if (!provisional_) return;
  for (const auto& row : provisional_rows_) take_back(row);
  provisional_rows_.clear();
  next_id_ = before_provisional_.next_id;
  tracks_ = before_provisional_.tracks;
  event_count_ = before_provisional_.event_count;
  provisional_ = false;
}

void TraceWriter::take_back(const Provisional& row) {
  auto& statement = deletes_[row.table];
  if (!statement) {
    std::string where;
    for (const std::size_t column : key_columns(*row.table))
      where += fmt::format("{}{} = ?", where.empty() ? "" : " AND ", row.table->columns[column].name);
    statement = std::make_unique<Statement>(*database_, fmt::format("DELETE FROM {} WHERE {}", row.table->name, where));
  }
  note_change(row);
  int index = 0;
  for (const std::int64_t value : row.key) statement->bind_one(++index, value);
  statement->run();
}

void TraceWriter::finish() {
  write_tracks();
  transaction_->commit();
  inserts_.clear();
  transaction_.reset();
  database_->execute("PRAGMA optimize");
  database_.reset();
  const std::string written = path_ + ".writing";
  if (std::rename(written.c_str(), path_.c_str()) != 0)
    throw IoError(fmt::format("{}: cannot be put in place of {}: {}", written, path_, std::strerror(errno)));
  for (const char* suffix : {"-wal", "-shm", "-journal"}) std::remove((path_ + suffix).c_str());
  finished_ = true;
}

}  // namespace shardlab::traces
