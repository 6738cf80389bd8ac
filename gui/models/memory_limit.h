// How much memory the rows of a trace may take in the window, and what of a larger trace is opened.
#pragma once

#include <cstdint>
#include <string>

#include "gui/models/trace_data.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {

// The user's setting, else half of the machine's memory. In bytes.
std::int64_t memory_limit();
// Keeps it for this and later windows; 0: half of the machine's again.
void set_memory_limit(double gib);

// What a trace's events, collectives, launches, waits and reads will take, by what the file says of them: an estimate, in bytes. Arrays are
// counted, and cannot be left out.
struct MemoryNeed {
  std::int64_t rows = 0;    // in proportion to the stretch of time that is opened
  std::int64_t arrays = 0;  // whatever is opened
  std::int64_t all() const { return rows + arrays; }
};
MemoryNeed memory_need(traces::TraceReader& reader);

// Of a trace that needs more than `limit`: the last part of its time, by the share of the rows that fits. Rows that begin before `from` are
// not read.
struct OpenedPart {
  Ns from = 0;
  double share = 1;          // of the time
  std::string notice;        // what a person must know
  traces::Growth rows_from;  // the same as keys of the tables that are cut
};
OpenedPart last_part(traces::TraceReader& reader, TimeRange range, const MemoryNeed& need, std::int64_t limit);

}  // namespace shardlab::gui
