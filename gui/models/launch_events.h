// Which events of the timeline are a launch's, which launch an event is of, and where in the timeline an array was touched.
//
// Launches that share a device follow each other on it, so that an event is of the launch that ran there then.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// Events [first, last) of a lane.
struct EventRun {
  std::uint32_t first = 0, last = 0;
  bool empty() const { return first >= last; }
};

// Of a lane of its process: what it did on the device, or its issue on the host's lane.
EventRun events_of_launch(const TraceData& trace, const Launch& launch, int lane);

// The launch that a lane's event is part of; null where there is none, or its record was lost.
const Launch* launch_of_event(const TraceData& trace, int lane, std::int64_t event);

// A lane's event of that launch, or the first after its begin; {-1, -1} where there is none.
std::pair<int, std::int64_t> event_of_launch(const TraceData& trace, int process, std::int64_t launch);

// Its collectives, by time; `device`: those alone that it takes part in, -1: all.
std::vector<int> collectives_of_launch(const TraceData& trace, const Launch& launch, int device = -1);

// Where in the timeline the launches lie that took an array, and those that gave it.
struct TouchedLanes {
  struct Runs {
    std::vector<EventRun> takes, gives;  // by time
  };
  std::vector<Runs> lanes;  // by lane of the trace
  bool took(int lane, std::int64_t event) const { return has(lanes, &Runs::takes, lane, event); }
  bool gave(int lane, std::int64_t event) const { return has(lanes, &Runs::gives, lane, event); }
  bool touched(int lane, std::int64_t event) const { return took(lane, event) || gave(lane, event); }

 private:
  static bool has(const std::vector<Runs>& lanes, std::vector<EventRun> Runs::*side, int lane, std::int64_t event);
};
TouchedLanes find_touched(const TraceData& trace, int array, const std::stop_token& stop = {});

}  // namespace shardlab::gui
