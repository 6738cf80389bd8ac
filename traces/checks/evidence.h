// What a verdict rests on: the calls, states and ends of all processes; and the verdict itself.
//
// Filled by the live ledger and, afterwards, from the trace: the rules are pure functions over it. Depends on base alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardlab {

// One launch that spans processes, as one process issued it. Collectives inside a launch follow from its fingerprint.
struct CallEvidence {
  std::int64_t launch = 0;        // the process's number for it
  std::int64_t seq = 0;           // rank on its device set
  std::uint64_t fingerprint = 0;  // of its program
  std::uint64_t group = 0;        // hash of the ordered device set
  std::string op;                 // "matmul", "device_put", the jitted function's name
  std::string where;              // "toy.cpp:31"
  std::int32_t statement = -1;    // of a scenario
  std::int64_t issued_ns = 0;
  std::int64_t planned_ns = 0;  // what the process planned and compiled since the call before
  bool matched = false;
  bool sent = false;  // a buffered send that is over for its process, and not yet received
  // Of a value that every process brings whole: it must be equal on all. Its hash (0: there is none) and its first elements.
  std::uint64_t value_hash = 0;
  std::vector<std::string> value_head;
};

// What a process did between its calls. Nobody else takes part in it, but it tells where the process was on its way.
struct StepEvidence {
  enum class Kind : std::uint8_t {
    kLocal,     // a launch on devices of its own
    kRead,      // a host-visible read
    kObserved,  // a value that the program asked for: process_index(), a seed, a variable of the environment, a decision
    kUnused,    // results that were dropped before anybody used them; `value` is how many
    kWaited,    // in calls, for the data of process `after`; `value` is how long in all, ns
    kCalled,    // launch `after` was issued in these functions of the program, innermost first: `what`
  };
  Kind kind = Kind::kLocal;
  std::string what;  // "sin", "fetch", "process_index"
  std::string where;
  std::int32_t statement = -1;
  std::string value;              // observed, as text
  std::uint64_t fingerprint = 0;  // of a local launch's program, or the observed value's hash
  std::int64_t after = 0;         // calls that it had issued before
};

// So many of its last local launches, reads and observations a process remembers.
inline constexpr std::size_t kStepsRemembered = 64;

// What is known of a program by its fingerprint.
struct ProgramEvidence {
  std::uint64_t fingerprint = 0;
  std::uint64_t group = 0;  // hash of the ordered device set
  std::string name, text, mesh;
  std::vector<int> devices, processes;
  std::vector<std::string> operands, results;  // "float32[8,8] P('a', None)"
  struct Collective {
    std::string kind, dtype, shape, reduction, op, groups, pairs;
    std::int64_t bytes = 0;
    std::string where;  // on the process that declared the program first
    std::string axes;   // of the mesh, that the groups run along: "a, b"
  };
  std::vector<Collective> collectives;
  // Of one end of a message: which channel ("0 to 1, tag 3"), which end, and what it carries. Empty: no message.
  std::string channel, message;
  bool receives = false, buffered = false;
  int from = -1, to = -1;  // processes
};

enum class ProcessState : std::uint8_t {
  kJoining,  // not yet heard of
  kRunning,  // computes
  kReading,  // blocked at a host-visible read, until its calls are matched
  kWaiting,  // blocked in a call, for peers
  kLeft,     // ended normally
  kRaised,   // ended in an error
  kExited,   // ended with a code, or without leaving the job
  kKilled,   // by a signal
  kSilent,   // alive and in no call, but it has said nothing for longer than it may
  kStopped,  // not even its heartbeat has come for longer than it may: stopped, or cut off
};

// The exit code of a process that is not ours to wait for, and whose connection closed.
inline constexpr int kDisappeared = -1;

// How long a process alone kept the others waiting: from when all others stood at a call until it came too.
struct LatenessEvidence {
  std::int64_t calls = 0, ns = 0, longest_ns = 0;
  std::string op, where;  // of the longest
  std::int32_t statement = -1;
  std::vector<int> waiting;     // for the longest
  std::int64_t planned_ns = 0;  // what it took longer than they to plan and compile first calls, which is none of it
};

struct ProcessEvidence {
  int process = 0;
  ProcessState state = ProcessState::kJoining;
  int exit_code = 0;
  int signal = 0;
  std::string error;  // the error's text, with kRaised
  std::string where;  // of the error, the read or the call it is in
  std::int32_t statement = -1;
  std::string doing;        // "print", "fetch", "exit", …
  std::int64_t issued = 0;  // launches that span processes
  std::int64_t matched = 0;
  std::vector<CallEvidence> calls;  // the last matched ones and all unmatched ones, in order of issue
  std::int64_t since_ns = 0;        // when this state began
  std::uint64_t history = 0;        // rolling hash over all matched calls
  bool joined = false;              // ever heard of
  std::vector<StepEvidence> steps;  // the last kStepsRemembered, in order
  std::string at;                   // the line that it began last
  std::int32_t at_statement = -1;
  LatenessEvidence late;
  std::vector<StepEvidence> unused;   // kUnused
  std::vector<int> awaits;            // in a wait beside its calls (`doing`), which those must end, and that is proved to be for ever
  std::vector<StepEvidence> waited;   // kWaited, one a process that it waited for; the place is that of the longest wait
  std::vector<StepEvidence> callers;  // kCalled, of open launches and the last ones
};

// What another legal schedule, or less buffering, would have come to.
struct Alternative {
  std::string under;  // "another schedule", "sends that are not buffered"
  std::string code, message;
  std::vector<int> processes;
  std::string details;  // how to see it
};

struct Evidence {
  std::vector<ProcessEvidence> processes;
  std::vector<ProgramEvidence> programs;
  std::int64_t now_ns = 0;
  std::int64_t complete_ns = 0;       // the issue or death that proved the first finding; 0 where there is none
  std::int64_t look_ahead_calls = 0;  // seen after the first finding
  std::vector<Alternative> alternatives;
  const ProgramEvidence* program(std::uint64_t fingerprint) const {
    for (const auto& program : programs)
      if (program.fingerprint == fingerprint) return &program;
    return nullptr;
  }
  // The program as launched on that device set; by fingerprint alone where the set is not recorded.
  const ProgramEvidence* program(const CallEvidence& call) const {
    for (const auto& program : programs)
      if (program.fingerprint == call.fingerprint && program.group == call.group) return &program;
    return program(call.fingerprint);
  }
};

// One side of a diagnosis.
struct Participant {
  int process = 0;
  std::int64_t seq = -1;
  std::string kind;  // of the collective, or "launch" where it has none
  std::string op;
  std::string where;  // source line
  std::int32_t statement = -1;
  std::string sharding;  // of its operands and results
  std::string state;     // "waiting", "running", "left", "killed by signal 9", …
  std::string shape, dtype, mesh;
  std::vector<int> devices;
  std::string callers;  // the program's functions in which it was issued, innermost first: "step, main"
};

struct Diagnosis {
  std::string code;            // of docs/diagnoses.md, e.g. "order-mismatch"
  std::string severity;        // "error", "warning", "info"
  std::string message;         // one sentence with both sides
  std::string explain;         // what it means and what to do, for a newcomer
  std::vector<int> processes;  // the guilty
  bool tie = false;
  std::vector<Participant> participants;                     // all sides, the guilty first
  std::vector<std::string> fields;                           // what differs: "op", "shape", "sharding", …
  std::vector<std::pair<std::string, std::string>> details;  // "direction": "skipped", "text": …
  std::int64_t evidence_ns = 0;                              // when the evidence was complete
  std::int64_t detected_ns = 0;
  double detected_after_ms() const { return double(detected_ns - evidence_ns) / 1e6; }
};

}  // namespace shardlab
