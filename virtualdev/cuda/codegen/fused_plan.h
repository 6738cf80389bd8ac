// The kernel of a fused run of elementwise steps.
#pragma once

#include "runtime/exec/fuse.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

// Buffers: the step's inputs, then its outputs; number 0: elements, then each repetition's Repeats. Ops are elementwise ones.
KernelText fused_kernel(const FusedStep& step);

}  // namespace shardlab::cuda
