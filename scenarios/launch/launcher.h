// The launcher: starts the processes of a job, supervises each one, and says how each ended and what the verdict is.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/launch.h"
#include "traces/checks/evidence.h"

namespace shardlab {

enum class Output {
  kCapture,  // into the result
  kPrefix,   // through, line by line, each with "[2] " before it where there are several processes
  kPass,     // the processes write where we write
};

struct LaunchResult;

struct LaunchOptions {
  std::vector<std::string> argv;  // the program, looked up in PATH, and its arguments
  int processes = 1;
  int devices = 0;                           // virtual devices of each process; 0: as the program or its surroundings say
  std::string transport;                     // a TransportDef's name; empty: as the surroundings say, else auto
  std::string trace_dir;                     // where processes put their records; empty: they record nothing
  std::chrono::milliseconds limit{0};        // then the run is ended as inconclusive; 0: none
  std::chrono::milliseconds stuck{10'000};   // how long a process that others wait for may be silent
  std::chrono::milliseconds look_ahead{50};  // how long processes may issue on after a finding
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  // Added to the environment of one process alone.
  std::function<std::vector<std::pair<std::string, std::string>>(int process)> environment_of;
  Output output = Output::kCapture;
  bool elastic = false;         // a death ends what was begun together and not the job
  int restarts = 0;             // elastic: how often a process that ended badly is started again
  bool handle_signals = false;  // SIGINT and SIGTERM: say where every process is, then end them all
  // From a thread of the coordinator's, as soon as there is a verdict.
  std::function<void(const std::vector<Diagnosis>&)> on_verdict;
  // When all processes have ended, before the coordinator is taken down, which takes long on a busy machine.
  std::function<void(const LaunchResult&)> on_end;
};

// How one process ended.
struct ProcessEnd {
  int process = 0;
  pid_t pid = 0;
  int exit_code = 0;  // where signal is 0
  int signal = 0;
  bool ended_by_us = false;  // after the verdict, at the limit, or on a signal to us
  int restarts = 0;          // how often it had been started again
  comm::Ns started_ns = 0, ended_ns = 0;
  std::string out, err;      // with Output::kCapture, at most LaunchResult::kOutputBytesMax each
  std::string text() const;  // "exited with code 3", "killed by signal 9 (SIGKILL)"
};

struct LaunchResult {
  static constexpr std::size_t kOutputBytesMax = std::size_t(16) << 20;

  std::vector<ProcessEnd> processes;
  std::vector<Diagnosis> diagnoses;
  std::vector<Diagnosis> remarks;  // on a run that ended without a verdict
  Evidence evidence;
  std::optional<std::string> common_error;  // what all processes raised alike: no diagnosis
  bool timed_out = false;
  int interrupted_by = 0;   // SIGINT or SIGTERM, where that ended it
  std::string whereabouts;  // where every process was, when the limit or a signal ended it; one line each
  comm::Ns started_ns = 0, ended_ns = 0;
  double duration_ms() const { return double(ended_ns - started_ns) / 1e6; }
  // Every process left or exited with 0, and there is no verdict.
  bool ok() const;
};

// Leaves nothing behind: no process, no file, whatever happens. Throws UserError when the program cannot be started.
LaunchResult launch(const LaunchOptions&);

}  // namespace shardlab
