// What jit tells apart, and programs that are looked at without running them.
#include "runtime/exec/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"

namespace shardlab {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Jit, NumbersAndStringsAreStatic) {
  int traced = 0;
  auto power = jit([&](const Array& x, int exponent, const std::string& mode) {
    ++traced;
    Array y = x;
    for (int i = 1; i < exponent; ++i) y = multiply(y, x);
    return mode == "negative" ? negative(y) : y;
  });
  Array x = array<float>({2, 3});
  std::string plain = "plain", reversed = "negative";
  EXPECT_EQ(power(x, 3, plain).to_vector<float>()[0], 8);
  EXPECT_EQ(power(x, 3, plain).to_vector<float>()[1], 27);
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(power(x, 2, plain).to_vector<float>()[0], 4);
  EXPECT_EQ(power(x, 2, reversed).to_vector<float>()[0], -4);
  EXPECT_EQ(traced, 3);
}

TEST(Jit, TreesOfOtherFormsAreOtherPrograms) {
  auto total = jit(
      [](const std::map<std::string, Array>& params) { return params.count("b") ? multiply(params.at("b"), 10) : params.begin()->second; });
  EXPECT_EQ(total(std::map<std::string, Array>{{"a", array<float>({1})}}).to_vector<float>()[0], 1);
  EXPECT_EQ(total(std::map<std::string, Array>{{"b", array<float>({1})}}).to_vector<float>()[0], 10);
}

TEST(Jit, LowersWithoutRunning) {
  Mesh mesh = make_mesh({8}, {"i"});
  Array x = device_put(arange(16.0f).reshape({16}), NamedSharding(mesh, P("i")));
  auto lowered = jit([](const Array& a, int scale) { return sum(multiply(a, scale)); }).lower(x, 3);
  EXPECT_THAT(lowered.as_text(), HasSubstr("reduce_sum"));
  EXPECT_THAT(lowered.as_text(), Not(HasSubstr("all-reduce")));
  EXPECT_THAT(lowered.compile().as_text(), HasSubstr("all-reduce"));
}

}  // namespace
}  // namespace shardlab
