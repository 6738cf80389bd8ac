// Where two processes that disagree first went apart: the first step of their own that differs, and what they may have decided by.
#pragma once

#include "traces/checks/positions.h"

namespace shardlab {

// Adds to the diagnosis what `guilty` and `other` did differently before they disagreed: both lines as further participants, and the
// observations since the last call they agreed on as details.
void add_origin(const Positions& positions, int guilty, int other, Diagnosis& diagnosis);

}  // namespace shardlab
