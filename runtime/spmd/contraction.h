// How XLA shares a contraction whose operands do not lie alike along it.
#pragma once

#include "runtime/spmd/candidates.h"

namespace shardlab::spmd {

// The parts, 1 or more, into which XLA cuts a contracted factor that propagation's shardings leave whole since its operands disagree about
// it. `forms`: as propagation leaves operands, then results, even; `atoms`: the digits of the mesh.
//
// Cut into as many parts along different axes in both, it is moved in one of them. Cut in one alone it is summed over that operand's axes
// where no axis is idle, or over all idle axes where its own cut the result too; both only where a device's part of the result is smaller
// than the operand's part would be were it gathered along the contraction. (Found by experiments with XLA's partitioner of products.)
std::int64_t parts_of_contraction(const OpShape& op, const std::vector<Spec>& forms, const Axes& atoms);

}  // namespace shardlab::spmd
