// Small traces made in memory, for tests of models and views.
#pragma once

#include <span>

#include "gui/models/trace_data.h"

namespace shardlab::gui::sample {

TracePtr empty();
// A 4 × 2 mesh over `processes` processes, an array P('a','b') and its relatives, one sum.
TracePtr toy(int processes = 4);
// A resharding and a product with their programs, as a plan has them; one result and one collective came otherwise.
TracePtr planned();
// The toy in which process 3 multiplies the other way round.
TracePtr deadlock();
// `rows` × `cols` devices, `steps` steps of compute and all-reduce over rows.
TracePtr grid(int rows, int cols, int devices_per_process, int steps);
// One lane of `events` random events (seeded), `flagged` of them with an error.
LaneEvents random_lane(unsigned seed, int events, int flagged);
// The toy with what devices hold: process 3's drop an array early, one array is donated, one held to the end.
TracePtr held();
// A step run again and again by two processes of two devices: each takes the weights, twice, and a batch of its own, and the last one takes
// the weights for good. Launches tell which arrays they took and gave.
TracePtr steps(int count);
// Names far longer than any column.
TracePtr long_names();
// The toy with its last process cut off.
TracePtr torn();

// One of each, for what must hold of every kind of trace.
struct Kind {
  const char* name;
  TracePtr (*make)();
};
std::span<const Kind> kinds();

}  // namespace shardlab::gui::sample
