// The same trace on another time axis: virtual time, in which devices never share a core, or logical steps.
#pragma once

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class TimeAxis : std::uint8_t {
  kWall,     // as recorded
  kVirtual,  // every device by its own clock: its compute one after the other, transfers when the last member has come
  kLogical,  // an event is a step; the members of a collective take it together, after the last of them (Isaacs et al. 2014)
};
struct TimeAxisDef {
  TimeAxis axis;
  const char* id;
  const char* title;
  const char* doc;
};
inline constexpr TimeAxisDef kTimeAxes[] = {
    {TimeAxis::kWall, "wall", "wall time", "As the clock of the machine had it"},
    {TimeAxis::kVirtual, "virtual", "virtual time",
     "Each device by its own clock: compute without waiting for a core, transfers when the last member has come"},
    {TimeAxis::kLogical, "logical", "logical steps", "An event is one step; a collective is taken together, after the last of its members"},
};
constexpr Ns kLogicalStep = 1000;  // of the axis, for one step

// Rows and their order stay, so that a selection holds on every axis. What never ended still never ends.
TracePtr retime(const TraceData& trace, TimeAxis axis);

}  // namespace shardlab::gui
