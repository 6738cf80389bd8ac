// What costs less to compute again than to keep in memory.
#pragma once

#include <deque>
#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab {

// A value of comparisons, choices and the like of one other, as the factor in the gradient of a maximum, is computed where later steps read
// it, of what it comes of: so it is not stored meanwhile, or at least not read. `steps` are of the program, which gets slots for what is
// computed again; `made` owns the new steps. What costs arithmetic that a compiler may round in another way stays.
void compute_at_use(spmd::PartitionedProgram& program, std::vector<const spmd::Step*>& steps, std::deque<spmd::Step>& made);

}  // namespace shardlab
