// Ways to put the lanes of the timeline into groups: by process, by host, along an axis of a mesh.
#pragma once

#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

struct LaneGrouping {
  std::string title;                // "process", "host", "axis a"
  std::vector<int> group_of;        // of each lane of the trace, in the order in which groups are shown
  std::vector<std::string> groups;  // their names; empty with grouping by process, which has names of its own
};

// By process first; by host where there are several; then each axis of the largest mesh that parts its devices.
std::vector<LaneGrouping> lane_groupings(const TraceData& trace);

}  // namespace shardlab::gui
