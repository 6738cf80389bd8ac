// The kernel that combines the partial results of devices which share a GPU.
#pragma once

#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

// Buffers: the members' values, then the result; number 0: elements. By one balanced binary tree over the members, pairs of neighbours
// level by level: the order of every reduction between devices.
KernelText combine_kernel(Reduction reduction, DType dtype, int members);

}  // namespace shardlab::cuda
