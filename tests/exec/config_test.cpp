// Flags: 64-bit types off and on, their names, and what is asked for while they are off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/config.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;

class X64 : public ::testing::Test {
 protected:
  void SetUp() override { config::update("enable_x64", true); }
  void TearDown() override { config::update("jax_enable_x64", false); }
};

TEST(Config, SixtyFourBitTypesAreOffAtFirst) {
  EXPECT_FALSE(config::value("enable_x64"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(zeros({2}, float64).dtype(), float32);
  EXPECT_EQ(zeros({2}, int64).dtype(), int32);
  EXPECT_EQ(zeros({3}, float64).dtype(), float32);
  std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("Explicitly requested dtype float64 requested in zeros is not available, and will be truncated to dtype "
                              "float32. To enable more dtypes, set"));
  EXPECT_THAT(told, HasSubstr("config_test.cpp:"));
  EXPECT_EQ(array<double>({1.5, 2}).to_vector<float>(), (std::vector<float>{1.5, 2}));  // silently, as data have a dtype unasked
  EXPECT_EQ((arange(3) + 0.5).dtype(), float32);
  EXPECT_EQ(astype(arange(3), bfloat16).dtype(), bfloat16);
  EXPECT_EQ((astype(arange(3), bfloat16) * 2.5).dtype(), bfloat16);
}

TEST_F(X64, MakesThemTheDefault) {
  EXPECT_EQ(zeros({2}).dtype(), float64);
  EXPECT_EQ(arange(3).dtype(), int64);
  EXPECT_EQ(arange(0.5).dtype(), float64);
  EXPECT_EQ((arange(3) / 2).dtype(), float64);
  EXPECT_EQ(sum(astype(arange(3), int8)).dtype(), int64);
  EXPECT_EQ(sin(astype(arange(3), float32)).dtype(), float32);
  EXPECT_EQ(array<std::int64_t>({std::int64_t(1) << 40}).item<std::int64_t>(), std::int64_t(1) << 40);
  EXPECT_EQ(array<double>({1e300, 1}).dtype(), float64);
  Array product = matmul(array<double>({1, 1e-12}), array<double>({1, 1}));
  EXPECT_EQ(product.item<double>(), 1 + 1e-12);
}

TEST_F(X64, ProgramsOfTheOtherModeAreNotUsed) {
  auto count = [] { return arange(4).dtype(); };
  EXPECT_EQ(count(), int64);
  config::update("enable_x64", false);
  EXPECT_EQ(count(), int32);
}

TEST(Config, UnknownFlags) {
  try {
    config::update("enable_x46", true);
    FAIL();
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("did you mean 'enable_x64'?")); }
}

}  // namespace
}  // namespace shardlab
