// Kernels that are made of no single node: fused runs, and the combination of devices' partial results.
#pragma once

#include "runtime/exec/fuse.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

// Buffers: the step's inputs, then its outputs; number 0: elements. Ops are elementwise ones.
KernelText fused_kernel(const FusedStep& step);

// Buffers: the members' values, then the result; number 0: elements. By the balanced tree of tree_split().
KernelText combine_kernel(Reduction reduction, DType dtype, int members);

}  // namespace shardlab::cuda
