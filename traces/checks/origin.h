// Where two processes that disagree first went apart: the first step of their own that differs and leads to the disagreement, and what
// they may have decided by.
#pragma once

#include <cstdint>

#include "traces/checks/positions.h"

namespace shardlab {

// What the processes disagree in. By which call comes next they have taken different ways; by what a call is given they have come the same
// way with different data.
enum class Dispute : std::uint8_t { kCalls, kOperands };

// Adds to the diagnosis what `guilty` and `other` did differently on their way from the last call they agreed on: both lines as further
// participants, and the observations since then as details. Where there is no such step, a detail tells what they differed in before calls
// that they agreed on, or while they went on alike afterwards, and that it is seldom the cause; of a dispute about operands, which may have
// been made long before, that too is told with both lines.
void add_origin(const Positions& positions, int guilty, int other, Dispute dispute, Diagnosis& diagnosis);

}  // namespace shardlab
