// The trace as the window holds it: columns for what is many, plain rows for what is few; read once, then immutable.
//
// Every reference between rows is an index into the vector beside it, -1 where there is none. Times are integer
// nanoseconds of the trace's clock; `kOpen` marks an end that was never recorded.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/lane_forest.h"
#include "traces/checks/evidence.h"
#include "traces/statement_places.h"
#include "traces/values.h"

namespace shardlab::gui {

constexpr Ns kOpen = std::numeric_limits<Ns>::max();

struct TimeRange {
  Ns begin = 0;
  Ns end = 0;
  Ns length() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const TimeRange&) const = default;
};

// A source line, or a scenario's statement (`line` 0).
struct Site {
  std::string file;
  std::string function;
  int line = 0;
  int statement = -1;
  std::string pointer;       // of a statement, its place in the scenario: "/program/4"
  std::string text() const;  // "toy.cpp:31", "statement 4"
  std::string path() const;  // the same with folders
};

struct Process {
  int index = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string state;  // "left", "killed", "waiting", …
  std::string error;
  std::string where;
  int exit_code = 0;
  int signal = 0;
  std::vector<int> devices;  // ordinals
  Ns last = kOpen;           // its last record; kOpen: it left none
  bool ended_badly() const;
};

struct CollectiveType;

// Of the trace's programs: what a launch runs.
struct Program {
  struct Value {
    std::string name, dtype, sharding;
    std::vector<std::int64_t> shape;
  };
  std::string name, text, mesh;
  std::vector<int> devices, processes;
  std::vector<Value> operands, results;
  std::vector<std::shared_ptr<const CollectiveType>> collectives;  // that each run makes, as the partitioner planned them
  std::int64_t intermediate_bytes = 0;                             // held between its steps, at most, on the device that holds most
};

// A run of a program, as one process issued it.
struct Launch {
  int process = 0;
  std::int64_t number = 0, seq = 0;
  int program = -1;
  int site = -1;
  Ns issued = 0;
  Ns started = kOpen, done = kOpen;  // kOpen: never
  int frame = -1;                    // the innermost of the program's calls that led to it
};

// A line of a function of the program that called, on whose stack launches were issued.
struct Frame {
  std::string function, file;  // file: empty where it is not known
  int line = 0;
  int parent = -1;  // who called; -1: nobody above it is known
};

// A value on its way to the host: print, fetch, exit.
struct HostRead {
  int process = 0;
  Ns begin = 0, end = kOpen;
  std::string what;
  int site = -1;
};

// `process` waited for `peer` in a collective.
struct WaitEdge {
  int process = 0, peer = 0;
  Ns begin = 0, end = kOpen;
  int collective = -1;
};

// At the verdict `process` stood at its launch `launch`, which needed `peer`, which stood elsewhere: from the ledger's evidence.
struct LedgerWait {
  int process = 0, peer = 0;
  std::int64_t launch = -1;  // -1: it waited beside its launches, `doing` something at a line
  std::string doing = {};    // "barrier b at toy.cpp:7"
  Ns since = 0;              // of a wait beside launches
  bool any = false;          // any of its peers would do: one sets the key that it asked for
};

struct Device {
  int ordinal = 0;
  int process = 0;
  int local = 0;     // its place among its process's devices
  std::string name;  // "CPU 3"
};

struct Mesh {
  struct Axis {
    std::string name;
    int size = 1;
  };
  std::string name;
  std::vector<Axis> axes;
  std::vector<int> devices;  // ordinals, last axis fastest
  std::string text() const;  // "a=4, b=2"
};

// What one device holds of an array: for each dimension [begin, end).
struct Shard {
  int device = 0;
  std::vector<std::int64_t> begin, end;
  bool same_slice(const Shard& other) const { return begin == other.begin && end == other.end; }
};

// How arrays of one shape and sharding lie on the devices; shared by all that lie so.
struct ArrayLayout {
  std::vector<std::int64_t> shape;
  std::string spec;                   // "P('a', 'b')"
  std::vector<std::string> dim_axes;  // the mesh axes that shard each dimension: "a", "a,b" or ""
  int mesh = -1;
  std::vector<Shard> shards;
  std::int64_t elements_per_device() const;  // of the largest shard
};

// An array at one point of the program.
struct Array {
  std::string name, dtype;  // the name may be empty
  std::shared_ptr<const ArrayLayout> layout;
  int site = -1;
  Ns time = 0;
  int process = 0;                                      // the lowest that made it
  std::int64_t launch = -1;                             // of that process, that made it
  std::shared_ptr<const traces::WholeChecksum> values;  // null: the run was not asked for checksums, or a part is missing
  std::string display_name() const;                     // the name, or what stands for it
  std::string type_text() const;                        // "float32[8,16]"
  std::int64_t element_bytes() const;
  std::int64_t bytes_per_device() const;
};

// Since when and until when the devices of a process hold their parts of an array.
struct ArrayHold {
  int array = 0;
  int process = 0;
  Ns begin = 0, end = kOpen;  // kOpen: to the end of the record
  bool donated = false;
};

// A launch of a process that took an array, or gave it.
struct ArrayUse {
  int array = 0;
  int process = 0;
  std::int64_t launch = 0;
  int position = -1;     // among the operands or the results of its program; -1: not known
  bool gives = false;    // it is a result
  bool donated = false;  // taken for good
  bool operator==(const ArrayUse&) const = default;
};

// Lists of devices that a collective runs over, each for itself.
struct DeviceGroups {
  std::vector<std::vector<int>> lists;  // ordinals
  std::vector<int> devices;             // of all of them, sorted
  int group_of(int device) const;       // -1 where it is in none
  bool contains(int device) const { return group_of(device) >= 0; }
};

// What all runs of one collective of a program share.
struct CollectiveType {
  std::string kind, op, dtype, shape, reduction, axes, cause, sharding_before, sharding_after;
  std::vector<std::pair<int, int>> pairs;  // [source, target] of permutes and transfers
  std::int64_t bytes = 0;
  std::int64_t wire_bytes = 0;
  int site = -1;
  std::shared_ptr<const DeviceGroups> groups = std::make_shared<DeviceGroups>();
};

// One side of a collective: a process with all its devices in it (`device` -1), or one device.
struct Member {
  int process = 0;
  int device = -1;
  Ns enter = 0;
  Ns start = kOpen;  // when the last of its peers had arrived; kOpen: one never came
  Ns exit = kOpen;
  int site = -1;
  std::int64_t moved_bytes = 0;  // seen to leave for other processes
  bool waiting() const { return exit == kOpen; }
};

// One logical collective over all its groups.
struct Collective {
  std::shared_ptr<const CollectiveType> type;
  std::int64_t seq = 0;
  int program = -1;
  int call = 0;              // index in the program
  std::int64_t launch = -1;  // number on the lowest process that issued it
  std::string state;         // "matched", "partial", "mismatched"
  int diagnosis = -1;
  bool failed = false;
  bool open = false;            // a member never left
  std::vector<Member> members;  // by process, then device
  std::vector<int> not_begun;   // processes that issued it and never came to it; seldom any
  TimeRange span() const;       // over what is recorded; an open end counts as its entry
  const Member* member_of(const Device& device) const;
};

enum class EventKind : std::uint8_t { kCompute, kCollective, kHostRead, kLaunch, kOther };
std::string_view event_kind_name(EventKind kind);

// What events of one name and place share.
struct Label {
  std::string name;
  int site = -1;
  bool operator==(const Label&) const = default;
};

// The events of one lane, in columns.
struct LaneEvents {
  std::vector<Ns> begin, end;  // sorted, not overlapping
  std::vector<std::uint32_t> label;
  std::vector<std::int32_t> collective;
  std::vector<EventKind> kind;
  std::vector<std::uint8_t> flags;  // LaneFlag
  LaneForest forest;                // over the columns above
  // Of a process's devices together: the program of a computation that some of them have no part in, else -1; empty: there is none.
  std::vector<std::int32_t> program;
  std::size_t size() const { return begin.size(); }
  LaneSummary summary(std::size_t first, std::size_t last) const { return forest.query(begin, end, flags, first, last); }
  LaneSummary summary() const { return summary(0, size()); }
};

// One row of the timeline: a device's, or a process's host thread. Devices in lockstep share one store of events.
struct Lane {
  int process = 0;
  int device = -1;  // ordinal; -1: the host lane
  std::string name;
  std::shared_ptr<LaneEvents> events = std::make_shared<LaneEvents>();
  // What the file says of the whole lane, known before its events are read.
  struct Summary {
    std::int64_t count = 0, errors = 0, open = 0;
    Ns first = kOpen, last = kOpen, busy = 0;
  } summary;
};

// What the partitioner planned of a program, and what was recorded of it: one collective, or the sharding of one result.
struct Prediction {
  int program = -1;
  int call = 0;                                   // index in the program
  int result = -1;                                // position among the results; -1: of a collective
  int array = -1;                                 // of a result: the first recorded, or the first that lies otherwise
  std::string planned_sharding, seen_sharding;    // of a result; seen: empty where it was never recorded
  std::shared_ptr<const CollectiveType> planned;  // null: the plan knows nothing of it
  std::shared_ptr<const CollectiveType> seen;     // null: it was never recorded
  int runs = 0;                                   // of the program, each rank counted once over its processes
  int recorded = 0;                               // collectives
  int collective = -1;                            // the first of them
  std::int64_t moved_bytes = 0;                   // seen to cross processes
  bool as_planned = true;
};

// A fault of the trace itself that a reader must know: what was lost, cut off or not understood.
struct Notice {
  std::string text;
  bool loss = false;
};

class ArrayUses;        // gui/models/array_uses.h
class CollectiveIndex;  // gui/models/collective_index.h
class MemoryUse;        // gui/models/memory.h
class StepCounter;      // gui/models/step_counter.h

struct TraceData {
  std::string path, title;
  TimeRange range;
  std::vector<Site> sites;
  std::vector<Label> labels;
  std::vector<Process> processes;
  std::vector<Device> devices;
  std::vector<Mesh> meshes;
  std::vector<Array> arrays;
  std::vector<ArrayHold> array_holds;                          // by array, then process; of those that were ever held
  bool records_array_ends = false;                             // older traces do not
  std::shared_ptr<const ArrayUses> array_uses;                 // null: the trace does not tell, or it is still being read
  std::shared_ptr<const MemoryUse> memory;                     // of array_holds; null while they are being read
  std::vector<Collective> collectives;                         // by time
  std::shared_ptr<const CollectiveIndex> collectives_by_time;  // null before finish()
  std::shared_ptr<const StepCounter> bytes_in_flight;          // of collectives, over time; null before finish()
  std::vector<Lane> lanes;                                     // by process, host lane first, then by device
  std::vector<Diagnosis> diagnoses;
  traces::StatementPlaces places;  // of the scenario's statements
  std::vector<Notice> notices;
  std::vector<Program> programs;
  std::vector<Launch> launches;  // by process, then number
  std::vector<Frame> frames;     // parents come first; none of a program that told no stacks
  std::vector<HostRead> host_reads;
  std::vector<WaitEdge> wait_edges;
  std::vector<LedgerWait> ledger_waits;  // empty without a verdict
  std::vector<Prediction> predictions;   // by program, then call
  bool running = false;                  // made while the run went on: nothing in it is an end
  bool live = false;                     // made by who follows the run: what is found at its end is not in it
  bool preview = false;                  // events and collectives are still being read: lanes have their summary alone

  std::string site_text(int site) const;
  const Process* process(int index) const;
  const Device* device(int ordinal) const;
  const Launch* launch(int process, std::int64_t number) const;
  std::size_t event_count() const;
  bool torn() const;
};

using TracePtr = std::shared_ptr<const TraceData>;

// After the rows are filled: lanes' flags and forests, the range, collectives' `open`, their diagnoses where the
// trace does not name them, and what is found by time.
void finish(TraceData& trace);
// The same over `threads` threads.
void finish(TraceData& trace, int threads);
// Of the columns and forests, counted once where lanes share them.
std::size_t event_bytes(const TraceData& trace);

}  // namespace shardlab::gui
