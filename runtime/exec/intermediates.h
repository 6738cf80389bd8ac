// How much a run of a program holds at once beside its operands and results.
#pragma once

#include "runtime/exec/executable.h"

namespace shardlab {

// Bytes, at most, on the mesh position that holds most: of the values between the steps, loops and branches included; not of what an op
// needs while it computes one. Of a program that is only described, whose steps are
// not fused, it may be more than a run holds.
std::int64_t intermediate_bytes(const Executable& executable);
std::int64_t intermediate_bytes(const spmd::PartitionedProgram& program);

}  // namespace shardlab
