// Mode A of the planner: each op alone, each value left in its propagated form.
#pragma once

#include "runtime/spmd/emit.h"

namespace shardlab::spmd {

// Every value is left in the even part of its propagated sharding, and each op takes the cheapest way there: by wire bytes, then by the
// number of collectives, then by work. Linear in the program, without search state; inner values stay what propagation says.
// `in_place`: elementwise ops of one operand may be computed where their results lie, as XLA does, though they would do less elsewhere.
void plan_alone(Emitter& emitter, bool in_place);

}  // namespace shardlab::spmd
