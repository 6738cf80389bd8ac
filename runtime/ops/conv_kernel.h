// The kernel of conv.
#pragma once

#include "runtime/ops/conv_dims.h"

namespace shardlab::ops {

// Each element of the result is a sum over the features and the window in the order of gemm (runtime/ops/gemm.h), so that its bits do not
// depend on how batch, outputs and spatial dimensions are cut.
void conv_kernel(const KernelArgs& args);

}  // namespace shardlab::ops
