// What the kernels of sliding_windows share.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// The windows of a result's box as a strided region of the operand's part, in elements (regions.h).
struct SlidingRegion {
  std::int64_t offset;
  Shape strides;
};
SlidingRegion sliding_region(const KernelArgs& args);

}  // namespace shardlab::ops
