// Which launches took an array as an operand: found by elimination, since a trace says of operands what they are and not which.
//
// A launch took an array where no other that its process may have held then has the operand's dtype, shape and sharding. Values from the
// host are no arrays, and are passed over.
#pragma once

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// By array, process, launch; each once.
std::vector<ArrayUse> find_array_uses(const TraceData& trace);

// Launches of several processes that are the same call of the program.
struct UsesOfCall {
  int program = -1;
  int site = -1;
  Ns first = kOpen;            // when the first of them was issued
  std::vector<int> processes;  // ascending, each once
  int launches = 0;
  int process = 0;  // one of them, to show
  std::int64_t launch = 0;
};
// Those that took the array, by time.
std::vector<UsesOfCall> uses_of(const TraceData& trace, int array);

// A lane's event of that launch, or the first after its begin; {-1, -1} where there is none.
std::pair<int, std::int64_t> event_of_launch(const TraceData& trace, int process, std::int64_t launch);

}  // namespace shardlab::gui
