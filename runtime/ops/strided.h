// Copies through strides: what transpose and broadcast_in_dim are.
#pragma once

#include "runtime/core/tensor_type.h"

namespace shardlab::ops {

// out, dense row-major of `shape`: out[i, j, …] = in[i * strides[0] + j * strides[1] + …], in elements of `element_bytes` (1, 2, 4, 8 or
// 16).
void strided_copy(const Shape& shape, const Shape& strides, const std::byte* in, std::byte* out, std::int64_t element_bytes);

}  // namespace shardlab::ops
