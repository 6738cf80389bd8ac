// A matrix transposed from one place to another: what transposes, and Fourier transforms along outer axes, spend their time on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardlab::ops {

// to[c * to_stride + r] = from[r * from_stride + c] for r < rows and c < columns; strides in elements of `element_bytes` (1, 2, 4, 8 or
// 16). The two do not overlap.
void transpose_block(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride, std::int64_t rows,
                     std::int64_t columns, std::int64_t element_bytes);

}  // namespace shardlab::ops
