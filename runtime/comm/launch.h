// What the outside world is told of a run: programs, the collectives in them, and their launches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/call_stacks.h"
#include "runtime/base/where.h"
#include "runtime/comm/digest.h"
#include "runtime/core/checksum.h"

namespace shardlab::comm {

using ProcessIndex = int;
using Ordinal = int;      // a device's place in devices()
using Ns = std::int64_t;  // nanoseconds of CLOCK_MONOTONIC, one clock for all processes of a host

Ns now_ns();

// One collective of a program: what all its runs share. Everything that the recorder, the checks and the window show of a
// collective is here, so a new kind needs no edit in them.
struct CollectiveInfo {
  std::string kind;                                // HLO's name, e.g. "all-reduce"; "transfer" for device_put
  std::vector<std::vector<Ordinal>> groups;        // device ordinals, each group in order
  std::vector<std::pair<Ordinal, Ordinal>> pairs;  // source, target: permutes and transfers only
  std::vector<std::string> axes;                   // mesh axes that the groups run along, sub-axes as "a:(1)2"
  std::string dtype;                               // "float32"
  std::vector<std::int64_t> shape;                 // of the result on one device
  std::string reduction;                           // "sum", "max", …; empty where nothing is reduced
  std::int64_t bytes = 0;                          // of the result on one device
  std::int64_t wire_bytes = 0;                     // the ring model's count over all devices
  std::string op;                                  // the user's op that needs it, e.g. "matmul"
  std::string cause;                               // why, e.g. "sum over factor k, sharded on b"
  std::string sharding_before, sharding_after;     // of the value, as text
  Where where;                                     // the user's line
  int begun_per_run = 1;  // how often this process begins it a run: once for each group that may come without others
};

// A value that a program takes or gives, for the record.
struct ValueInfo {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::string sharding;  // "P('a', None) on mesh(a=4, b=2)"
};

// The two ends of a message between two processes. They are programs of their own, with one channel: the n-th receive of a channel takes
// its n-th send. A buffered send is over when it is issued; another one waits for its receive.
struct Channel {
  ProcessIndex from = 0, to = 0;
  std::int64_t tag = 0;
  bool receives = false;
  bool buffered = true;
  std::string type;  // "float32[8,4]": both ends must say the same
};

// One traced and partitioned program. Immutable; shared by all its launches.
struct ProgramInfo {
  std::uint64_t fingerprint = 0;        // first 64 bits of SHA-256 of `text`
  std::string name;                     // the op's or the jitted function's name
  std::string text;                     // canonical: what must be equal on all processes
  std::string mesh;                     // "mesh(a=4, b=2)" with devices where not 0, 1, 2 …
  std::vector<Ordinal> devices;         // the ordered device set it runs on
  std::vector<ProcessIndex> processes;  // those that own any of them, ascending
  std::vector<ValueInfo> operands, results;
  std::vector<CollectiveInfo> collectives;
  std::optional<Channel> channel;  // a send or a receive, and nothing else
  // What a run holds at once, at most, on the device that holds most, beside its operands and results: of values alone, not what an op
  // needs while it computes one.
  std::int64_t intermediate_bytes = 0;
  bool spans_processes() const { return processes.size() > 1; }
};

// An array that a launch takes.
struct TakenArray {
  std::int64_t array = -1;  // the process's id of it; -1: it has none, since no process but another one has its values
  bool donated = false;
  bool operator==(const TakenArray&) const = default;
};

// One run of a program, numbered per issuer from 0 at issue.
struct Launch {
  std::int64_t number = 0;
  std::int64_t seq = 0;  // rank among this process's launches on the same ordered device set
  std::shared_ptr<const ProgramInfo> program;
  Where where;
  Ns issued_ns = 0;
  // What every process brings whole, e.g. of a device_put from the host: it must be equal on all of them.
  std::shared_ptr<const ValueDigest> value;
  const RecordedStack* stack = nullptr;  // the program's calls that led to it; null where nobody records, and for statements of a scenario
  // In the order of the program's operands; empty where nobody records. Not all of them were told of: host data seldom is.
  std::vector<TakenArray> takes;
};

// Which device holds what of an array, for the record.
struct ArrayInfo {
  std::int64_t id = 0;
  std::int64_t launch = -1;  // the launch that made it
  int result = -1;           // its place among that launch's results
  std::string name;          // the user's, or empty
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string spec;  // "P('a', None)"
  std::vector<std::int64_t> mesh_shape;
  std::vector<std::string> mesh_axes;
  std::vector<std::vector<std::string>> spec_axes;  // per dimension the axes, sub-axes as "a:(1)2"
  std::vector<Ordinal> devices;                     // in mesh order
  // Per device of `devices` and per dimension [start, stop).
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> shards;
  bool committed = true;
  Where where;
};

// The values of one part of an array.
struct PartChecksum {
  Ordinal device = 0;  // the first of the process's devices that hold it, and these values
  Checksum checksum;
};

enum class CallStatus : std::uint8_t { kOk, kPoisoned, kFailed };

}  // namespace shardlab::comm
