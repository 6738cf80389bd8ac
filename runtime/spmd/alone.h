// Mode A of the planner: each op alone, each value left in its propagated form.
#pragma once

#include "runtime/spmd/emit.h"

namespace shardlab::spmd {

// Every value is left in the even part of its propagated sharding, and each op takes the cheapest way there: by wire bytes, then by the
// number of collectives, then by work. Linear in the program, without search state; inner values stay what propagation says.
// In which of the parts that its result could lie in an elementwise op is computed.
enum class InPlace {
  kWhereCheapest,
  kOfOneOperand,      // ops of one operand may be computed where their results lie, as XLA does, though they would do less elsewhere
  kAlways,            // all of them are, so that who needs a value in the same form shares its moves
  kAlwaysWithSlices,  // slices too, of whole operands that others use
};
// Whether a plan with slices in place may differ.
bool has_shared_slices(const Problem& problem);
void plan_alone(Emitter& emitter, InPlace in_place);

}  // namespace shardlab::spmd
