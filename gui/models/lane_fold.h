// What to draw of one lane in a window of time: events that are wide enough, and folds of those that are not.
#pragma once

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// One event (`count` 1) or a fold of several neighbours too narrow to be told apart.
struct LaneItem {
  Ns begin = 0;
  Ns end = 0;
  Ns busy = 0;                         // time within [begin, end) that is covered
  Ns collective_busy = 0;              // by collectives
  std::uint32_t index = 0;             // the event, or the longest of the fold
  std::uint32_t collective_index = 0;  // the longest collective, where collective_busy is not 0
  std::uint32_t count = 1;
  std::uint8_t flags = 0;  // of all of them
};

// The items of `lane` that meet `window`, by time. Events shorter than `fold_ns` are folded with their neighbours in the
// same stretch of `fold_ns`; no event is left out, and none is counted twice.
void fold_lane(const LaneEvents& lane, TimeRange window, Ns fold_ns, std::vector<LaneItem>& out);

// The index of the event that covers `time`, or, within `slack`, the nearest; -1 where there is none.
std::int64_t event_at(const LaneEvents& lane, Ns time, Ns slack);

}  // namespace shardlab::gui
