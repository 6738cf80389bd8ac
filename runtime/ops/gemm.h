// Matrix products whose bits depend on the operands alone.
#pragma once

#include <cstdint>

#include "runtime/core/dtype.h"

namespace shardlab::ops {

struct GemmSize {
  std::int64_t m, n, k;
};

// result[m, n] = a[m, k] b[k, n], all dense row-major, for the dtypes of arrays; bool is or of ands.
//
// float32: each element is summed over k from left to right within blocks of 256 by fused multiply-adds, and the blocks' sums are added
// from left to right: vectors of any width give the same bits. 16-bit floats are multiplied and summed in float32, rounded at the end.
void gemm(DType dtype, GemmSize size, const std::byte* a, const std::byte* b, std::byte* result);

}  // namespace shardlab::ops
