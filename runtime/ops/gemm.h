// Matrix products whose bits depend on the operands alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/dtype.h"

namespace shardlab::ops {

struct GemmSize {
  std::int64_t m, n, k;
};

// A matrix where it lies: element (i, j) is data[i * row_stride + j * column_stride], in elements. One of the strides is best 1.
struct GemmOperand {
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 1;
};

// A right side whose rows lie anywhere, and may overlap: element (i, j) is data[offsets[i] + j], in elements.
struct GemmRows {
  const std::byte* data = nullptr;
  const std::int64_t* offsets = nullptr;
};

// A right side that is made while it is used: nobody holds all of it.
class GemmPanels {
 public:
  virtual ~GemmPanels() = default;
  // Writes a part of it as rows: element (row + i, column + j) to to[i * to_stride + j], in elements of the dtype.
  virtual void pack(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, std::byte* to,
                    std::int64_t to_stride) const = 0;
};

// result[m, n], dense row-major, = a[m, k] b[k, n], for the dtypes of arrays; bool is or of ands.
//
// Floats of 32 and 64 bits: each element is summed over k from left to right within blocks of 256 by fused multiply-adds, and the blocks'
// sums are added from left to right: vectors of any width give the same bits. 16-bit floats are multiplied and summed in float32, rounded
// at the end.
void gemm(DType dtype, GemmSize size, const GemmOperand& a, const GemmOperand& b, std::byte* result);
void gemm(DType dtype, GemmSize size, const GemmOperand& a, const GemmRows& b, std::byte* result);
void gemm(DType dtype, GemmSize size, const GemmOperand& a, const GemmPanels& b, std::byte* result);

}  // namespace shardlab::ops
