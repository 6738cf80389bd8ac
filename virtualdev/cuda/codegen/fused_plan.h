// The kernel of a fused step.
#pragma once

#include "runtime/exec/fuse.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

// Who goes through a row of a step with reductions: one thread, where rows are short, or the threads of a block.
enum class RowOf : std::uint8_t { kThread, kBlock };
RowOf row_of(const FusedStep::Rows& rows);

// Buffers: the step's inputs, then its outputs; numbers: rows and the elements of each, then each repetition's Repeats. Values inside stay
// in registers; those between two reductions are computed once for each reduction that needs them, and once for the results.
KernelText fused_kernel(const FusedStep& step, RowOf row_of);

}  // namespace shardlab::cuda
