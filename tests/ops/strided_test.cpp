// Copies through strides and transposed blocks, against loops over elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/ops/strided.h"
#include "runtime/ops/transpose_block.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 4, 8, 16};  // of an element

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& each : bytes) each = std::byte(random());
  return bytes;
}

TEST(TransposeBlock, TakesAnyNumbersOfRowsAndColumnsAndTouchesNothingElse) {
  std::mt19937 random(1);
  for (std::int64_t size : kSizes)
    for (auto [rows, columns] :
         {std::pair{0, 5}, {5, 0}, {1, 1}, {1, 9}, {8, 8}, {7, 8}, {8, 7}, {16, 24}, {13, 70}, {70, 13}, {129, 65}}) {
      const std::int64_t from_stride = columns + 3, to_stride = rows + 2;
      const std::vector<std::byte> from = random_bytes(std::size_t(rows * from_stride * size), random);
      std::vector<std::byte> to = random_bytes(std::size_t(columns * to_stride * size), random), expected = to;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          std::copy_n(from.begin() + (r * from_stride + c) * size, size, expected.begin() + (c * to_stride + r) * size);
      transpose_block(from.data(), from_stride, to.data(), to_stride, rows, columns, size);
      EXPECT_EQ(to, expected) << rows << " x " << columns << " of " << size << " bytes";
    }
}

// Every order of four dimensions; and dimensions that are repeated, as broadcasts have them.
TEST(StridedCopy, TakesEveryOrderOfDimensions) {
  std::mt19937 random(2);
  for (std::int64_t size : kSizes)
    for (const Shape& operand : {Shape{3, 5, 2, 7}, Shape{9, 1, 17, 4}, Shape{2, 33, 8, 1}}) {
      const std::vector<std::byte> in = random_bytes(std::size_t(element_count(operand) * size), random);
      std::vector<std::size_t> order{0, 1, 2, 3};
      do
        for (int repeated = -1; repeated < 4; ++repeated) {
          Shape shape, strides;
          for (std::size_t axis : order) {
            shape.push_back(operand[axis]);
            strides.push_back(int(axis) == repeated ? 0 : strides_of(operand)[axis]);
          }
          std::vector<std::byte> out(in.size()), expected;
          for (std::int64_t a = 0; a < shape[0]; ++a)
            for (std::int64_t b = 0; b < shape[1]; ++b)
              for (std::int64_t c = 0; c < shape[2]; ++c)
                for (std::int64_t d = 0; d < shape[3]; ++d) {
                  const auto at = in.begin() + (a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]) * size;
                  expected.insert(expected.end(), at, at + size);
                }
          strided_copy(shape, strides, in.data(), out.data(), size);
          ASSERT_EQ(out, expected) << text_of(shape) << " by " << text_of(strides) << ", " << size << " bytes";
        }
      while (std::next_permutation(order.begin(), order.end()));
    }
}

}  // namespace
}  // namespace shardlab::ops
