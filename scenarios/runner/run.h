// Runs one scenario, whatever it needs, and reports. Never throws for what a scenario contains or does.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/base/scratch_folder.h"
#include "scenarios/document/load.h"
#include "scenarios/runner/report.h"

namespace shardlab::scenarios {

struct RunOptions {
  std::optional<std::int64_t> limit_ms;    // instead of the document's limits.run_ms
  std::string trace;                       // keep the trace here
  std::string parts;                       // spawned processes record into this folder, which stays; the trace is put there too
  std::string failure_traces;              // keep those of spawned runs that do not pass in this folder
  bool handle_signals = false;             // SIGINT and SIGTERM end a spawned run, and the report says so
  std::string program = "/proc/self/exe";  // the command, for processes of their own
};

// The scenario can run inside the calling process: it is simulated, or it has one process, no faults, and nothing looks at its trace.
bool runs_in_process(const Document& document, const RunOptions& options);

Report run_scenario(const Loaded& loaded, const RunOptions& options = {});

std::int64_t limit_of(const Document& document, const RunOptions& options);

// spawn.cpp: real processes, started and supervised by the launcher. Fills everything but the expectations.
struct SpawnedRun {
  std::vector<ProcessOutcome> outcomes;
  ScratchFolder folder{"job"};  // its files
  // Merges what the processes recorded: the trace's path, while `folder` is there. Nothing where they recorded nothing.
  std::function<std::string()> merge_trace;
};
SpawnedRun run_spawned(Report& report, const Loaded& loaded, const RunOptions& options);

}  // namespace shardlab::scenarios
