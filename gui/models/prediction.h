// What the partitioner planned against what was recorded: each program's collectives, and the shardings of its results.
#pragma once

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// By program, then call: every planned collective, and those that were recorded without a plan. A collective is as planned when it has
// the plan's kind, groups and bytes, and was recorded as often as the program ran (or less often, where the run did not end). Then its
// results: one is as planned when every array that was recorded of it lies as the plan said.
std::vector<Prediction> compare_with_plan(const TraceData& trace);

}  // namespace shardlab::gui
