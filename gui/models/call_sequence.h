// The calls of all processes in lockstep: by device set and rank on it, equal processes merged, the first divergence found.
#pragma once

#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class CallMatch : std::uint8_t {
  kOutside,  // the process owns no device of this call
  kEqual,    // runs what most of them run
  kDiffers,  // runs something else at this place
  kMissing,  // never came to this place
  kTie,      // all differ and none is in the majority
};

struct SequenceCell {
  CallMatch match = CallMatch::kOutside;
  int launch = -1;   // of the row's first process: index into TraceData::launches
  int same_as = -1;  // with kDiffers: the column in which most run what this one runs here
};

// A call: the launches of one rank on one device set.
struct SequenceColumn {
  std::int64_t seq = 0;
  int program = -1;  // what most run
  bool divergent = false;
};

// Processes that made the same calls.
struct SequenceRow {
  std::vector<int> processes;
  std::vector<SequenceCell> cells;  // one a column
};

struct CallSequence {
  std::vector<SequenceColumn> columns;  // in the order of the program
  std::vector<SequenceRow> rows;        // most processes first
  int first_divergence = -1;            // a column
  std::size_t divergence_count = 0;
  bool in_one_order = true;  // false: each process makes the calls in an order of its own, and no order suits all
};

// Launches that span processes; where none does, all.
CallSequence make_call_sequence(const TraceData& trace);

// Of calls none of which differs: "the same on all processes", and whether in one order.
const char* same_words(const CallSequence& sequence);
// "matmul", "(unknown)".
std::string program_name(const TraceData& trace, int program);
// What a cell is, in words: "process 3 runs matmul at toy.cpp:13, which most run as call 4".
std::string describe(const TraceData& trace, const CallSequence& sequence, std::size_t row, std::size_t column);

}  // namespace shardlab::gui
