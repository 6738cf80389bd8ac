// Merges the parts of a job's processes into one trace, with every end, the verdict and its evidence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab::recorder {

// How a process ended, as its supervisor saw it.
struct ProcessEnd {
  int process = 0;
  std::int64_t pid = 0;
  std::string host;  // empty: as the process said
  int exit_code = 0;
  int signal = 0;          // that killed it; 0: it exited
  std::string last_words;  // the end of its stderr, or its error's text
};

struct MergeOptions {
  std::string directory;             // with part-<process>.db and ring-<process>.ring
  std::string out;                   // the trace; replaced where it exists
  std::vector<ProcessEnd> ends;      // empty: all processes that left a part, ended normally
  std::vector<Diagnosis> diagnoses;  // the verdict
  Evidence evidence;                 // what it rests on; without processes where there was no ledger
  std::string title, command_line;   // empty: as process 0 said
  // Processes may be alive: what they wrote to their parts so far is read, their rings are theirs, and the trace says that the run
  // goes on until every recorder has ended.
  bool running = false;
};

struct MergeResult {
  std::int64_t processes = 0, collectives = 0, unmatched = 0, records = 0;
  std::vector<std::string> problems;  // what is missing, whole sentences; each is a row of import_log too
};

// Drains what is left in rings (of dead processes: of a running job never), joins the processes' calls by (device set, seq, program, call)
// and writes `out`. A part that is missing or torn is left out and told in `problems`. Throws IoError where `out` cannot be written.
MergeResult merge_parts(const MergeOptions& options);

}  // namespace shardlab::recorder
