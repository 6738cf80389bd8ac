// associative_scan against running combinations written out; pools against windows written out, sharded too.
#include "runtime/exec/associative_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/eight_devices.h"

namespace shardlab {

struct Line {  // x -> slope x + offset
  Array slope, offset;
};
SHARDLAB_TREE(Line, slope, offset)

namespace {

using ::testing::HasSubstr;

class Running : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"x", "y"}, {5, 1, 2, 0, 7, 4, 6, 3});
};

void expect_near(const Array& got, const Array& wanted, float tolerance = 1e-5F) {
  ASSERT_EQ(got.shape(), wanted.shape());
  std::vector<float> a = got.to_vector<float>(), b = wanted.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << i;
}

Array plus(const Array& a, const Array& b) { return a + b; }

TEST_F(Running, SumsOfEveryLength) {
  for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 13, 16}) {
    Array x = wave({n, 3});
    expect_near(associative_scan(plus, x), cumsum(x, 0));
    expect_near(associative_scan(plus, x, {.reverse = true}), flip(cumsum(flip(x, 0), 0), 0));
    expect_near(jit([](const Array& v) { return associative_scan(plus, v, {.axis = -1}); })(x), cumsum(x, 1));
  }
}

TEST_F(Running, TreesAndFunctionsThatDoNotCommute) {
  auto after = [](const Line& first, const Line& second) {
    return Line{first.slope * second.slope, first.offset * second.slope + second.offset};
  };
  const int n = 9;
  Line lines{wave({n}) + 1.0, wave({n}) * 0.5};
  Line all = jit([&](const Line& each) { return associative_scan(after, each); })(lines);
  std::vector<float> slope = lines.slope.to_vector<float>(), offset = lines.offset.to_vector<float>(), got = all.offset.to_vector<float>();
  float value = 0;
  for (int i = 0; i < n; ++i) {
    value = value * slope[std::size_t(i)] + offset[std::size_t(i)];
    EXPECT_NEAR(got[std::size_t(i)], value, 1e-4F);
  }
}

TEST_F(Running, ShardedAndDifferentiated) {
  Array x = wave({16, 6}), sharded = device_put(x, NamedSharding(mesh, P("x", "y")));
  auto scan = [](const Array& v) { return associative_scan(plus, v); };
  expect_near(jit(scan)(sharded), cumsum(x, 0));
  auto loss = [&](const Array& v) { return sum(square(scan(v))); };
  auto wanted = [](const Array& v) { return sum(square(cumsum(v, 0))); };
  expect_near(jit(grad(loss))(sharded), grad(wanted)(x), 1e-4F);
}

TEST_F(Running, ElementsAndResultsMustFit) {
  EXPECT_THAT(error_of([&] {
                associative_scan([](const Line& a, const Line&) { return a; }, Line{wave({3}), wave({4})});
              }),
              HasSubstr("Array inputs to associative_scan must have the same first dimension. (saw: [(3,), (4,)]"));
  EXPECT_THAT(error_of([&] { associative_scan([](const Array& a, const Array&) { return sum(a); }, wave({4})); }),
              HasSubstr("it must return one like its operands"));
}

// ---- Pools

Array pool(std::string_view op, const Array& x, const std::vector<std::int64_t>& window, const std::vector<std::int64_t>& strides,
           const std::string& padding) {
  return apply(op, {x}, Attrs{{"window_shape", window}, {"strides", strides}, {"padding", padding}}, {}).at(0);
}

TEST_F(Running, PoolsOfImages) {
  Array x = wave({2, 6, 4, 3});
  auto block = [&](int i, int j) {
    return apply("slice", {x},
                 Attrs{{"start", std::vector<std::int64_t>{0, i, j, 0}},
                       {"limit", std::vector<std::int64_t>{2, 6, 4, 3}},
                       {"stride", std::vector<std::int64_t>{1, 2, 2, 1}}},
                 {})
        .at(0);
  };
  Array most = maximum(maximum(block(0, 0), block(0, 1)), maximum(block(1, 0), block(1, 1)));
  Array all = block(0, 0) + block(0, 1) + block(1, 0) + block(1, 1);
  expect_near(pool("max_pool", x, {2, 2}, {2, 2}, "VALID"), most);
  expect_near(pool("avg_pool", x, {2, 2}, {2, 2}, "VALID"), all / 4.0);
  // At the border of SAME, 1 of 3 elements is padding: it counts as 0, or not at all.
  Array ones_image = ones({1, 3, 1});
  expect_near(pool("avg_pool", ones_image, {3}, {1}, "SAME"), array(std::vector<float>{2.0F / 3, 1, 2.0F / 3}, {1, 3, 1}));
  Attrs own{{"window_shape", std::vector<std::int64_t>{3}}, {"padding", std::string("SAME")}, {"count_include_pad", false}};
  expect_near(apply("avg_pool", {ones_image}, own, {}).at(0), ones_image);
}

TEST_F(Running, PoolsOfShardedImagesMoveHalosAndHaveGradients) {
  Array x = wave({2, 16, 8, 3}), sharded = device_put(x, NamedSharding(mesh, P(nullptr, "x", "y")));
  for (const char* op : {"max_pool", "avg_pool", "min_pool"}) {
    auto f = [op](const Array& v) { return pool(op, v, {3, 3}, {1, 1}, "SAME"); };
    expect_near(jit(f)(sharded), f(x));
    auto loss = [f](const Array& v) { return sum(square(f(v))); };
    expect_near(jit(grad(loss))(sharded), grad(loss)(x), 1e-4F);
    std::string text = jit(f).lower(sharded).compile().as_text();
    EXPECT_THAT(text, HasSubstr("collective-permute"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("all-gather")));
  }
  // Of equal elements the first takes the whole slope.
  auto first = [](const Array& v) { return sum(pool("max_pool", v, {2}, {2}, "VALID")); };
  EXPECT_THAT(grad(first)(ones({1, 4, 1})).to_vector<float>(), ::testing::ElementsAre(1, 0, 1, 0));
}

}  // namespace
}  // namespace shardlab
