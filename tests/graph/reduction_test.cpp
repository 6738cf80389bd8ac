// combine(): partial results become one.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/graph/op_def.h"

namespace shardlab {
namespace {

template <typename T>
T combined(Reduction reduction, T a, T b) {
  combine(reduction, dtype_of<T>::value, reinterpret_cast<std::byte*>(&a), reinterpret_cast<const std::byte*>(&b), 1);
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

}  // namespace
}  // namespace shardlab
