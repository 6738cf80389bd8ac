// A scenario, read and typed: every part with its JSON pointer, every sharding resolved on its mesh.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/core/config.h"
#include "runtime/core/sharding.h"
#include "runtime/graph/op_def.h"

namespace shardlab::scenarios {

// "on" and "not_on" of a statement.
struct ProcessSet {
  std::vector<int> processes;  // ascending
  bool complement = false;
  bool contains(int process) const;
};

struct Argument {
  std::variant<std::string, Scalar, Literal> value;  // a name, a weak scalar, a constant array
  std::string pointer;
};

struct Statement;
class FunctionStatement;
using Body = std::vector<Statement>;

// What a statement does. An op of the registry, with the out-sharding that "sharding" asks for.
struct OpStep {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::optional<Sharding> sharding;
};
struct ConstantStep {
  Literal value;
  std::optional<Sharding> sharding;
};
// device_put, with_sharding_constraint and reshard.
struct PlaceStep {
  enum class How : std::uint8_t { kPut, kConstrain, kReshard };
  Sharding sharding;  // UNCONSTRAINED dimensions are not cut
  How how = How::kPut;
  PartitionSpec spec = {};  // as written, of with_sharding_constraint
  bool has_open_dimensions = false;
};
// jit: one program; call: statement by statement.
struct CallStep {
  std::string function;
  bool jit = false;
  std::vector<std::optional<Sharding>> in_shardings, out_shardings;
};
// grad and value_and_grad: one program, as jit.
struct GradStep {
  std::string function;
  std::vector<int> argnums;
  bool with_value = false;
};
// fetch and process_allgather: the whole value on every process that asks.
struct ReadStep {
  bool gather = false;
  bool waits = true;          // not where it is started
  std::optional<bool> tiled;  // gather: of what each process has for itself, and whether that is joined or stacked
};
struct RepeatStep {
  std::int64_t count = 0;
  Body body;
};
// Per-device code over the shards of the arguments.
struct ShardMapStep {
  std::string function;
  Mesh mesh;
  std::vector<PartitionSpec> in_specs, out_specs;
  bool check_vma = false;
  std::vector<std::string> axis_names = {};  // along which the function is per device; all of the mesh's unless told
};
// A function with a sharding rule; `rule` has the rule's attributes as the op takes them.
struct CustomPartitioningStep {
  std::string function;
  Attrs rule;
};
// The first argument chooses: two functions are those of true and of false, for a boolean; else one for each index.
struct CondStep {
  std::vector<std::string> functions;
};
// The arguments: `consts` values that do not change, then the carried ones.
struct WhileStep {
  std::string condition, body;
  std::int64_t consts = 0;
};
// The arguments: `consts` values that do not change, `carry` carried values, then those that are scanned over.
struct ScanStep {
  std::string function;
  std::int64_t consts = 0;
  std::int64_t length = -1;  // -1: the leading size of the latter
  std::int64_t carry = 1;
  bool reverse = false;
};
// vmap, checkpoint, auto_axes, explicit_axes (function_statements.h).
struct FunctionStep {
  std::shared_ptr<const FunctionStatement> statement;
};
// Every process, or each of some, comes to it, and goes on when all have.
struct BarrierStep {
  std::string name;
  std::vector<int> processes;  // ascending; nothing: all
  bool waits = true;
};
// Everybody gets the value that one process has.
struct BroadcastStep {
  int root = 0;
  bool waits = true;
};
// The value is the same on all processes, or every one ends in an error.
struct AssertEqualStep {
  std::string message;
};
// An array made of what each process has: one of `data` for all, or one for each.
struct ProcessDataStep {
  Sharding sharding;
  std::vector<Argument> data;
  std::optional<Shape> global_shape;
  const Argument& of(int process) const { return data[data.size() == 1 ? 0 : std::size_t(process)]; }
};
// An array whose part on each device is what the function makes of the part's first index along each dimension.
struct CallbackStep {
  Shape shape;
  Sharding sharding;
  std::string function;
  std::optional<DType> dtype;
};
// An array made of its arguments, one on each of the process's devices.
struct DeviceDataStep {
  Shape shape;
  Sharding sharding;
  std::optional<DType> dtype;
};
// Point to point between processes.
struct SendStep {
  int peer = 0;
  std::int64_t tag = 0;
};
struct ReceiveStep {
  int peer = 0;
  std::int64_t tag = 0;
  TensorType type;
};
// Statements that another thread of the process issues, at the same time; and the wait until such threads have ended.
struct IssuerStep {
  std::string name;
  Body body;
};
// For such threads, and for values that were started.
struct WaitStep {
  std::vector<std::string> names;
};
using Step = std::variant<OpStep, ConstantStep, PlaceStep, CallStep, GradStep, ReadStep, RepeatStep, ShardMapStep, CondStep, WhileStep,
                          ScanStep, CustomPartitioningStep, FunctionStep, BarrierStep, SendStep, ReceiveStep, IssuerStep, WaitStep,
                          BroadcastStep, AssertEqualStep, ProcessDataStep, DeviceDataStep, CallbackStep>;

struct Statement {
  std::string pointer;  // "/program/4", "/functions/f/body/0"
  std::string op;       // as written; "repeat" for loops
  std::vector<std::string> let;
  std::vector<Argument> args;
  std::optional<ProcessSet> on;
  Step step;
  bool runs_on(int process) const { return !on || on->contains(process); }
  const Body* body() const;  // of a loop or an issuer; or nothing
};

struct Function {
  std::string name, pointer;
  std::vector<std::string> params;
  Body body;
  std::vector<std::string> results;
};

enum class RunMode : std::uint8_t { kAuto, kSpawned, kSimulated };
inline constexpr std::string_view kRunModes[] = {"auto", "spawned", "simulated"};

struct Cluster {
  int processes = 1;
  int devices = 1;  // per process
  std::string backend = "cpu", transport = "auto";
  std::string profile;  // a device profile's name; empty: plain virtual devices
  RunMode run = RunMode::kAuto;
  bool structure = false;  // "execute": shapes, shardings, collectives and diagnoses, without data
  int device_count() const { return processes * devices; }
};

// What a fault does when it strikes.
enum class FaultKind : std::uint8_t { kRaise, kExit, kKill, kStop, kHang, kDelay, kCorrupt, kDisconnect, kSlowLink, kClock, kTraceDisk };

struct Fault {
  std::string pointer;
  std::string statement;                   // its pointer; or
  std::optional<std::int64_t> iteration;   // the statement's n-th execution, from 0; nothing: the first
  std::optional<std::int64_t> collective;  // the process's n-th call, from 0; or
  std::optional<std::int64_t> after_ms;    // after the program's begin
  std::vector<int> processes;
  FaultKind kind = FaultKind::kRaise;
  int exit_code = 0;
  std::int64_t duration_ms = 0;  // of stop (0: for ever) and delay
  std::string array;             // corrupt: a name, and whose shard; without a device the process's first
  std::optional<int> device;
  double factor = 1;           // slow_link
  std::int64_t offset_ms = 0;  // clock
  double drift_ppm = 0;
  std::string text;  // for reports: the fault's "do"
};

struct Limits {
  std::int64_t run_ms = 60000, stuck_ms = 10000, link_ms = 10000;
};

// Which interleavings are tried.
struct Schedules {
  std::string policy = "fifo";
  int depth = 2;
  std::int64_t count = 100;
  std::vector<std::string> choices;  // of "replay": "p0", "p2.1", …
};

// One run for each process, each of its calls and each fault.
struct Sweep {
  std::vector<Fault> faults;
  std::vector<int> processes;
};

// Expectations.
struct ArrayCheck {
  std::string array;
  std::optional<Shape> shape;
  std::optional<std::string> dtype;
  std::optional<Sharding> sharding;
  std::optional<std::vector<std::pair<int, Box>>> shards;
  std::optional<std::vector<double>> values;
  std::optional<double> sum, abs_sum;
  std::optional<std::vector<std::pair<std::int64_t, double>>> samples;
  std::optional<std::vector<int>> addressable_on;
  double rtol = 1e-6, atol = 0;
};
struct CollectivesCheck {
  std::string kind;  // "*": any
  std::optional<std::int64_t> count, at_most;
  std::optional<std::vector<std::vector<int>>> groups;
};
struct WireBytesCheck {
  std::int64_t at_most = 0;
};
struct DiagnosisCheck {
  std::optional<std::string> code;  // nothing: none may be reached
  std::optional<std::vector<int>> processes;
  std::optional<int> statement;
};
struct ErrorCheck {
  std::string substring;
};
struct TraceCheck {
  std::string sql;
  std::vector<std::vector<std::string>> rows;  // as text, NULL as "null"
};
using Check = std::variant<ArrayCheck, CollectivesCheck, WireBytesCheck, DiagnosisCheck, ErrorCheck, TraceCheck>;

struct Expectation {
  std::string pointer;
  std::string text;  // the check as JSON
  Check check;
};

struct Document {
  std::string name, description;
  Cluster cluster;
  Config config;
  std::map<std::string, Mesh> meshes;
  std::map<std::string, Function> functions;
  Body program;
  std::vector<Fault> faults;
  std::int64_t seed = 0;
  std::optional<Schedules> schedules;
  std::optional<Sweep> sweep;
  Limits limits;
  std::vector<Expectation> expect;

  // The number of the program's statement that a pointer lies in, or -1: "/program/3/body/0" is in 3.
  static int statement_index(std::string_view pointer);
  bool has_issuers() const;
  template <typename T>
  const T* find_check() const {
    for (const Expectation& each : expect)
      if (const T* found = std::get_if<T>(&each.check)) return found;
    return nullptr;
  }
};

}  // namespace shardlab::scenarios
