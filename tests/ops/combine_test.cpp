// combine(): partial results become one.
#include "runtime/ops/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace shardlab::ops {
namespace {

template <typename T>
T combined(Reduction reduction, T a, T b) {
  auto* to = reinterpret_cast<std::byte*>(&a);
  combine(reduction, dtype_of<T>::value, to, to, reinterpret_cast<const std::byte*>(&b), 1);
  return a;
}

TEST(Combine, EveryReductionAndDtype) {
  EXPECT_EQ(combined(Reduction::kSum, 1.5f, 2.0f), 3.5f);
  EXPECT_EQ(combined(Reduction::kProd, 1.5f, 2.0f), 3.0f);
  EXPECT_EQ(combined(Reduction::kMax, -1.0f, 2.0f), 2.0f);
  EXPECT_EQ(combined(Reduction::kMin, -1.0f, 2.0f), -1.0f);
  EXPECT_EQ(combined<std::int32_t>(Reduction::kSum, 2147483647, 1), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(combined<std::int32_t>(Reduction::kProd, 65536, 65536), 0);
  EXPECT_EQ(combined<std::uint32_t>(Reduction::kMax, 1, 4000000000u), 4000000000u);
  EXPECT_EQ(combined<std::int32_t>(Reduction::kAnd, 6, 3), 2);
  EXPECT_EQ(combined<std::int32_t>(Reduction::kOr, 6, 3), 7);
  EXPECT_EQ(combined(Reduction::kAnd, true, false), false);
  EXPECT_EQ(combined(Reduction::kOr, true, false), true);
  EXPECT_EQ(combined(Reduction::kSum, Complex64(1, 2), Complex64(3, 4)), Complex64(4, 6));
  EXPECT_EQ(combined(Reduction::kProd, Complex64(1, 2), Complex64(3, 4)), Complex64(-5, 10));
  EXPECT_EQ(combined(Reduction::kMax, Complex64(1, 2), Complex64(1, 4)), Complex64(1, 4));
  EXPECT_EQ(combined<std::int8_t>(Reduction::kSum, 127, 1), -128);
  EXPECT_EQ(combined<std::uint64_t>(Reduction::kProd, std::uint64_t(1) << 63, 3), std::uint64_t(1) << 63);
  EXPECT_EQ(combined(Reduction::kSum, Bfloat16(256), Bfloat16(1)).bits, Bfloat16(256).bits);  // rounded to 8 bits
  EXPECT_EQ(combined(Reduction::kMax, Float16(-1), Float16(2)), Float16(2));
  EXPECT_EQ(combined(Reduction::kProd, Complex128(1, 2), Complex128(3, 4)), Complex128(-5, 10));
  EXPECT_THROW(combined(Reduction::kAnd, 1.0f, 2.0f), InternalError);
  EXPECT_EQ(name_of(Reduction::kProd), "prod");
}

TEST(Combine, NanWins) {
  for (Reduction reduction : {Reduction::kMax, Reduction::kMin}) {
    EXPECT_TRUE(std::isnan(combined(reduction, NAN, 1.0f)));
    EXPECT_TRUE(std::isnan(combined(reduction, 1.0f, NAN)));
  }
}

// Whatever the width of vectors, and wherever the results go.
TEST(Combine, OfManyElements) {
  for (std::int64_t count : {0, 1, 15, 16, 17, 255, 256, 257, 1024, 3001}) {
    std::vector<float> left, right, wanted;
    for (std::int64_t i = 0; i < count; ++i) {
      left.push_back(float(i % 97) / 8);
      right.push_back(float(i % 89) / 4);
      wanted.push_back(left.back() + right.back());
    }
    std::vector<float> apart(std::size_t(count) + 1, -1.0f), into_left = left, into_right = right;
    auto bytes = [](std::vector<float>& of) { return reinterpret_cast<std::byte*>(of.data()); };
    combine(Reduction::kSum, DType::kFloat32, bytes(apart), bytes(left), bytes(right), count);
    combine(Reduction::kSum, DType::kFloat32, bytes(into_left), bytes(into_left), bytes(right), count);
    combine(Reduction::kSum, DType::kFloat32, bytes(into_right), bytes(left), bytes(into_right), count);
    EXPECT_EQ(apart.back(), -1.0f) << count;
    apart.pop_back();
    EXPECT_EQ(apart, wanted) << count;
    EXPECT_EQ(into_left, wanted) << count;
    EXPECT_EQ(into_right, wanted) << count;
  }
}

}  // namespace
}  // namespace shardlab::ops
