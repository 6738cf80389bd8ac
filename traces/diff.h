// Where two runs differ: shardings, collectives, bytes and verdicts, by meaning and not by time.
#pragma once

#include <string>
#include <vector>

#include "traces/trace_reader.h"

namespace shardlab::traces {

struct Difference {
  std::string what;  // "collective", "array", "diagnosis", "devices"
  int process = -1;  // -1: of the run as a whole
  std::string place;
  std::string left, right;  // empty: there is none on that side
};

// In the order in which the runs went apart: first the machine, then each process's launches in order, its arrays, then verdicts. What
// follows from a difference in one process's launches is told once: the rest of that process is not compared. At most `most`.
std::vector<Difference> differences(TraceReader& left, TraceReader& right, std::size_t most = 20);

std::string text_of(const Difference& difference);

}  // namespace shardlab::traces
