// What a device's time went to: its events, and of each collective the wait for peers apart from the transfer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class TimeUse : std::uint8_t { kCompute, kTransfer, kWait };

// Lengths in ns. What is missing from the length of a range is time of which nothing was recorded.
struct TimeSplit {
  Ns compute = 0, transfer = 0, wait = 0;
  Ns sum() const { return compute + transfer + wait; }
  Ns& of(TimeUse use) { return use == TimeUse::kCompute ? compute : use == TimeUse::kTransfer ? transfer : wait; }
  Ns of(TimeUse use) const { return use == TimeUse::kCompute ? compute : use == TimeUse::kTransfer ? transfer : wait; }
  void add(const TimeSplit& other) {
    compute += other.compute;
    transfer += other.transfer;
    wait += other.wait;
  }
};

// When the last peer of a lane's event had come: its begin where it is no collective or waited for nobody, its end where one never came.
inline Ns wait_end(const TraceData& trace, const Lane& lane, std::size_t event) {
  const LaneEvents& events = *lane.events;
  const int collective = events.collective[event];
  const Device* device = collective < 0 ? nullptr : trace.device(lane.device);
  const Member* member = device ? trace.collectives[std::size_t(collective)].member_of(*device) : nullptr;
  if (!member) return events.begin[event];
  return member->start == kOpen ? events.end[event] : std::clamp(member->start, events.begin[event], events.end[event]);
}

// `visit(event, begin, end, use)` gets the pieces of a device lane's events that meet `window`, by time; it returns false to stop.
template <typename Visit>
void for_time_use(const TraceData& trace, const Lane& lane, TimeRange window, Visit visit) {
  const LaneEvents& events = *lane.events;
  auto i = std::size_t(std::lower_bound(events.end.begin(), events.end.end(), window.begin) - events.end.begin());
  const auto piece = [&](Ns begin, Ns end, TimeUse use) {
    begin = std::max(begin, window.begin);
    end = std::min(end, window.end);
    return begin >= end || visit(i, begin, end, use);
  };
  for (; i < events.size() && events.begin[i] < window.end; ++i) {
    const bool call = events.collective[i] >= 0;
    const Ns ready = call ? wait_end(trace, lane, i) : events.begin[i];
    if (!piece(events.begin[i], ready, TimeUse::kWait)) return;
    if (!piece(ready, events.end[i], call ? TimeUse::kTransfer : TimeUse::kCompute)) return;
  }
}

}  // namespace shardlab::gui
