// The rows of a trace as C++ values, with text in place of ids of strings; used by the reader and by the writer.
//
// A string_view borrows: from the TraceReader that gave the row (valid while it lives), or from the caller of the TraceWriter.
// Times are nanoseconds of the trace's clock, kNoTime where the trace has NULL. Ids are the trace's own: from 1, 0 for none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/checksum.h"
#include "traces/checks/evidence.h"

namespace shardlab::traces {

using Ns = std::int64_t;
using Id = std::int64_t;
constexpr Ns kNoTime = -1;

enum class TrackKind : std::uint8_t { kHost, kBatch, kDevice };
enum class EventKind : std::uint8_t { kCompute, kCollective, kHostRead, kLaunch, kOther };
enum class MemberStatus : std::uint8_t { kOk, kPoisoned, kFailed, kIssued, kOpen };
enum class MatchState : std::uint8_t { kMatched, kPartial, kMismatched };

// Bits of EventRow::flags.
constexpr std::uint32_t kBatched = 1, kNeverEnded = 2, kErrorFlag = 4, kWaited = 8;

struct SiteRow {
  std::string_view file;      // source file, or the scenario's name
  std::string_view function;  // enclosing function; empty for statements
  std::string_view pointer;   // a statement's JSON pointer; empty for C++
  int line = 0;               // 1-based; 0 for statements
  int statement = -1;
  bool known() const { return line != 0 || statement >= 0; }
  // "toy.cpp:31", "statement 4 (/program/4)", "unknown place".
  std::string text() const;
};

struct ProcessRow {
  int process = 0;
  std::int64_t pid = 0;
  std::string host;
  ProcessState state = ProcessState::kJoining;
  int exit_code = 0;
  int signal = 0;
  std::string error, place;
  int statement = -1;
  std::string doing;
  std::int64_t issued = 0, matched = 0;
  Ns first_ns = kNoTime, last_ns = kNoTime;
  bool closed = false;
};

struct DeviceRow {
  int ordinal = 0;
  int process = 0;
  int local_index = 0;
  std::string kind, name;
};

struct TrackRow {
  Id id = 0;
  TrackKind kind = TrackKind::kHost;
  int process = 0;
  int device = -1;     // ordinal, -1: none
  Id batch_track = 0;  // 0: none
  std::string name;
  std::int64_t event_count = 0;
  Ns first_ns = kNoTime, last_ns = kNoTime, busy_ns = 0;
  std::int64_t error_count = 0, open_count = 0;
};

struct EventRow {
  Id track = 0;
  Ns time_ns = 0;
  std::int64_t seq = 0;
  Ns duration_ns = kNoTime;  // kNoTime: it never ended
  EventKind kind = EventKind::kCompute;
  std::string_view name;
  Id collective = 0;
  std::int64_t launch = -1;
  Id site = 0;
  std::uint32_t flags = 0;
  const std::vector<int>* devices =
      nullptr;  // written alone: of a batched one, ascending, those that it concerns; null: all of its track's
};

// An event of a known track, with ids instead of text.
struct EventCore {
  Ns time_ns = 0, duration_ns = kNoTime;
  EventKind kind = EventKind::kCompute;
  Id name = 0, collective = 0, site = 0;
  std::uint32_t flags = 0;
  std::int64_t launch = -1;
};

struct ProgramValueRow {
  bool is_result = false;
  std::string name, dtype, sharding;
  std::vector<std::int64_t> shape;
};

// What all runs of one collective of a program share. Lists are JSON, as in the report.
struct CollectiveShape {
  std::string_view kind, groups, pairs, axes, dtype, shape;
  std::int64_t bytes = 0, wire_bytes = 0;
  std::string_view reduction, op, cause, sharding_before, sharding_after;
  Id site = 0;
};

struct ProgramRow {
  Id id = 0;
  std::uint64_t fingerprint = 0;
  std::string name, text, mesh;
  std::vector<int> devices, processes;
  std::vector<ProgramValueRow> values;
  std::vector<CollectiveShape> collectives;
  std::int64_t intermediate_bytes = 0;
};

struct LaunchRow {
  int process = 0;
  std::int64_t launch = 0, seq = 0;
  Id program = 0, site = 0;
  Ns issued_ns = 0, started_ns = kNoTime, done_ns = kNoTime;
  MemberStatus status = MemberStatus::kIssued;
  Id frame = 0;
};

// A line of a function of the program that called, on whose stack launches were issued.
struct FrameRow {
  Id id = 0, parent = 0;
  std::string_view function, file;  // file: empty where it is not known
  int line = 0;
};

struct MemberRow {
  int process = 0;
  int device = -1;  // -1: all devices of the process in the collective
  std::int64_t launch = 0;
  Id site = 0;
  Ns issued_ns = 0, start_ns = kNoTime, wait_ns = kNoTime, end_ns = kNoTime;
  std::int64_t moved_bytes = 0;
  MemberStatus status = MemberStatus::kIssued;
};

struct CollectiveRow {
  Id id = 0;
  std::int64_t seq = 0;
  Id program = 0;
  int call = 0;
  std::int64_t launch = 0;
  CollectiveShape what;
  MatchState state = MatchState::kMatched;
  Ns first_ns = kNoTime, last_ns = kNoTime;
  Id diagnosis = 0;
  std::vector<MemberRow> members;  // by process, then device
};

struct WaitEdgeRow {
  int process = 0, peer = 0;
  Ns begin_ns = 0, end_ns = kNoTime;
  Id collective = 0;
};

struct MeshRow {
  Id id = 0;
  std::string text;
  std::vector<std::pair<std::string, std::int64_t>> axes;  // name, size
  std::vector<int> devices;                                // last axis fastest
};

struct ShardRow {
  int device = 0;
  int replica = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // [start, stop) per dimension
};

struct LayoutRow {
  Id id = 0;
  Id mesh = 0;
  std::vector<std::int64_t> shape;
  std::string spec;
  std::vector<std::vector<std::string>> axes;  // per dimension
  std::vector<ShardRow> shards;                // by device
};

struct ArrayRow {
  Id id = 0;
  std::string_view name, dtype;
  Id layout = 0;
  bool committed = true;
  int process = 0;
  std::int64_t launch = -1;
  Id site = 0;
  Ns time_ns = 0;
  std::vector<int> processes;
};

// Of one process's devices, of the parts that they hold.
struct ArrayHolderRow {
  Id array = 0;
  int process = 0;
  Ns begin_ns = kNoTime;  // kNoTime: never
};
struct ArrayEndRow {
  Id array = 0;
  int process = 0;
  Ns end_ns = 0;
  bool donated = false;
};

// That a launch of a process took an array, or gave it.
struct LaunchArrayRow {
  int process = 0;
  std::int64_t launch = 0;
  bool is_result = false;
  int position = 0;  // among the operands or the results of its program
  Id array = 0;
  bool donated = false;  // taken for good
};

// Of one part of an array, as one process has it.
struct ChecksumRow {
  Id array = 0;
  int device = 0;
  int process = 0;
  Checksum checksum;
};

struct HostReadRow {
  int process = 0;
  Ns begin_ns = 0;
  std::int64_t seq = 0;
  Ns end_ns = kNoTime;
  std::string_view what;
  Id site = 0;
};

struct DroppedRow {
  int process = 0;
  Ns time_ns = kNoTime;
  std::int64_t count = 0, bytes = 0;
  std::string reason;
};

struct ImportLogRow {
  int process = -1;
  std::string source, severity, message;
};

// "[0,1]" and back; the lists of ordinals in "[[0,1],[2,3]]". parse_ throw IoError on other text.
std::string json_list(const std::vector<int>& values);
std::string json_list(const std::vector<std::int64_t>& values);
std::string json_list(const std::vector<std::string>& values);
std::string json_list(const std::vector<std::vector<int>>& values);
std::string json_list(const std::vector<std::pair<int, int>>& values);
std::vector<int> parse_int_list(std::string_view json);
std::vector<std::int64_t> parse_int64_list(std::string_view json);
std::vector<std::string> parse_text_list(std::string_view json);
std::vector<std::vector<int>> parse_int_lists(std::string_view json);

// Of a dtype's name, which says its bits: "float32" has 4, "bool" 1, "int4" 1.
std::int64_t element_bytes_of(std::string_view dtype);

// The ordinals in a collective: those of its groups, or of its pairs where it has no groups; ascending.
std::vector<int> devices_of(const CollectiveShape& what);

}  // namespace shardlab::traces
