// What users look into programs with: jax_debug_nans and jax_debug_infs, print_saved_residuals, optimization_barrier, values on the host;
// as JAX 0.10.2 gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runtime/exec/autodiff.h"
#include "runtime/exec/barriers.h"
#include "runtime/exec/callbacks.h"
#include "runtime/exec/config.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/saved_residuals.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using Floats = std::vector<float>;

class Debugging : public OnEightDevices {
 protected:
  void SetUp() override {
    OnEightDevices::SetUp();
    a = device_put(arange(8.0).reshape({4, 2}), NamedSharding(mesh, P("x", "y")));
  }
  void TearDown() override {
    a = {};
    OnEightDevices::TearDown();
  }
  Mesh mesh = Mesh({4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Array a;
};

// ---- numbers that are none

TEST_F(Debugging, TheFirstOpThatGivesANanIsNamedAtTheCall) {
  config::update("jax_debug_nans", true);
  EXPECT_THAT(error_of([&] { log(a - 1); }),
              AllOf(HasSubstr("invalid value (nan) encountered in log: element (0, 0) of float32[4,2], on device 0 [log at "
                              "debugging_test.cpp:"),
                    HasSubstr("debugging_test.cpp")));
  EXPECT_THAT(error_of([&] { a / 0 * 0; }), HasSubstr("invalid value (nan) encountered in div"));
  auto f = jit([](const Array& x) { return sqrt(x - 5.5) * 2 + 1; });
  EXPECT_THAT(error_of([&] { f(a); }), HasSubstr("invalid value (nan) encountered in sqrt: element (0, 0)"));
  EXPECT_THAT(error_of([&] { f(-a + 9.5); }), HasSubstr("encountered in sqrt: element (2, 1) of float32[4,2], on device 5"));
  EXPECT_EQ(f(a * 0 + 9.5).to_vector<float>(), Floats(8, 5));
  // What the results do not show is nobody's mistake.
  auto hidden = jit([](const Array& x) { return where(isnan(log(x - 1)), 0.0, 1.0); });
  EXPECT_EQ(hidden(a).to_vector<float>(), (Floats{0, 1, 1, 1, 1, 1, 1, 1}));
  auto slope = grad([](const Array& x) { return sum(where(x > 0, sqrt(x), 0.0)); });
  EXPECT_THAT(error_of([&] { jit(slope)(a); }), HasSubstr("invalid value (nan) encountered in mul"));
  auto devices =
      jit(shard_map([](const Array& x) { return log(x - 1); }, {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}}));
  EXPECT_THAT(error_of([&] { devices(a); }), HasSubstr("invalid value (nan) encountered in log"));
  auto loop = jit([](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& c) { return sqrt(c - 1); }, x);
  });
  EXPECT_THAT(error_of([&] { loop(a + 1); }), HasSubstr("invalid value (nan) encountered in sqrt"));
  EXPECT_THAT(error_of([&] { full({2}, std::nan("")); }), HasSubstr("invalid value (nan) encountered in"));
  EXPECT_EQ(((a + 1) / 0).to_vector<float>()[1], INFINITY);
  config::update("jax_debug_nans", false);
  config::update("debug_infs", true);
  EXPECT_THAT(error_of([&] { a / 0; }), HasSubstr("invalid value (inf) encountered in div: element (0, 1)"));
  EXPECT_THAT(error_of([&] { jit([](const Array& x) { return 1 / x; })(a); }), HasSubstr("invalid value (inf) encountered in div"));
  config::update("debug_infs", false);
  EXPECT_EQ((a / 0).to_vector<float>()[1], INFINITY);
}

// ---- what the backward pass keeps

std::vector<std::string> without_places(std::vector<std::string> lines) {
  for (std::string& line : lines) line = line.substr(0, line.find(" from debugging_test.cpp"));
  return lines;
}

TEST_F(Debugging, SavedResidualsAreJaxs) {
  const Array x = ones({4, 2}), w = ones({2, 3});
  auto f = [](const Array& at, const Array& by) {
    Array y = sin(matmul(at, by));
    return sum(cos(y) * y);
  };
  const auto all = saved_residuals(f)(x, w);
  EXPECT_THAT(without_places(all),
              testing::UnorderedElementsAre("f32[4,2] from the argument [0]", "f32[2,3] from the argument [1]", "f32[4,3] output of sin",
                                            "f32[4,3] output of cos", "f32[4,3] output of cos", "f32[4,3] output of neg"));  // JAX: sin
  EXPECT_THAT(all.back(), testing::ContainsRegex(" from debugging_test.cpp:[0-9]+$"));
  EXPECT_THAT(saved_residuals(checkpoint(f))(x, w), ElementsAre("f32[4,2] from the argument [0]", "f32[2,3] from the argument [1]"));
  EXPECT_THAT(without_places(saved_residuals(checkpoint(f, {.policy = checkpoint_policies::dots_saveable}))(x, w)),
              ElementsAre("f32[4,2] from the argument [0]", "f32[2,3] from the argument [1]", "f32[4,3] output of dot_general"));
  auto named = checkpoint([](const Array& at, const Array& by) { return sum(sin(checkpoint_name(sin(matmul(at, by)), "mid"))); },
                          {.policy = checkpoint_policies::save_only_these_names({"mid"})});
  EXPECT_THAT(without_places(saved_residuals(named)(x, w)),
              ElementsAre("f32[4,2] from the argument [0]", "f32[2,3] from the argument [1]", "f32[4,3] named 'mid'"));
  using Params = std::map<std::string, Array>;
  auto layer = [](const Params& p, const Array& at) { return sum(tanh(matmul(at, p.at("w")) + p.at("b"))); };
  const auto lines = without_places(saved_residuals(layer)(Params{{"w", w}, {"b", ones({3})}}, x));
  EXPECT_THAT(lines,
              testing::IsSupersetOf({"f32[2,3] from the argument [0]['w']", "f32[4,2] from the argument [1]", "f32[4,3] output of tanh"}));
  EXPECT_THAT(without_places(saved_residuals([&](const Array& at) { return sum(sin(at) * w); })(ones({2, 3}))),
              testing::UnorderedElementsAre("f32[2,3] from a constant", "f32[2,3] output of cos"));
  testing::internal::CaptureStdout();
  print_saved_residuals(checkpoint(f))(x, w);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "f32[4,2] from the argument [0]\nf32[2,3] from the argument [1]\n");
}

// ---- barriers, and values on the host

TEST_F(Debugging, ABarrierGivesItsOperands) {
  auto f = jit([](const Array& x) { return optimization_barrier(std::pair(x, x + 1)); });
  auto [same, next] = f(a);
  EXPECT_EQ(same.to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(next.to_vector<float>(), (a + 1).to_vector<float>());
  EXPECT_EQ(next.sharding().spec_text(), "P('x', 'y')");
  EXPECT_EQ(optimization_barrier(a).to_vector<float>(), a.to_vector<float>());
  const Array one = ones({});
  EXPECT_FLOAT_EQ(grad([](const Array& x) { return optimization_barrier(sin(x)); })(one).item<float>(), 0.5403023F);
  auto both = vmap([](const Array& x, const Array& y) { return optimization_barrier(std::pair(x, y)); }, {.in_axes = {0, std::nullopt}});
  auto [xs, ys] = both(arange(3.0), one);
  EXPECT_EQ(xs.to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(ys.to_vector<float>(), (Floats{1, 1, 1}));
  // Equal computations on both sides stay two.
  auto twice = jit([](const Array& x) { return sin(x) + sin(optimization_barrier(x)); });
  EXPECT_EQ(twice(a).to_vector<float>(), (sin(a) * 2).to_vector<float>());
}

TEST_F(Debugging, TreesAreWaitedForAndFetched) {
  const std::map<std::string, Array> tree{{"a", a}, {"b", arange(3)}};
  EXPECT_EQ(block_until_ready(tree).at("b").to_vector<int>(), (std::vector<int>{0, 1, 2}));
  const std::vector<HostArray> values = device_get(tree);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(values[1].text(), "[0 1 2]");
  EXPECT_THAT(error_of([&] { values[1].to_vector<float>(); }), HasSubstr("the array is int32[3], asked for float32"));
  EXPECT_THAT(error_of([&] { HostArray(Floats{1, 2}, Shape{3}); }), HasSubstr("2 values do not fill shape (3,)"));
}

TEST_F(Debugging, WhatVmapMakesOfNoCommittedArgumentLiesOnOneDevice) {
  auto f = vmap([](const Array& x) { return std::tuple(x * 2, arange(3.0), sum(ones({2}))); });
  auto [twice, numbers, two] = f(a);
  EXPECT_EQ(twice.sharding().spec_text(), "P('x', 'y')");
  EXPECT_TRUE(numbers.sharding().is_single_device());
  EXPECT_FALSE(numbers.committed());
  EXPECT_EQ(numbers.shape(), (Shape{4, 3}));
  EXPECT_FALSE(two.committed());
  auto [both, own] = vmap([](const Array& x, const Array& y) { return std::pair(x + y, y * 2); })(a, arange(4.0));
  EXPECT_EQ(both.sharding().spec_text(), "P('x', 'y')");
  EXPECT_EQ(both.to_vector<float>(), (Floats{0, 1, 3, 4, 6, 7, 9, 10}));
  EXPECT_FALSE(own.committed());
  EXPECT_EQ(own.to_vector<float>(), (Floats{0, 2, 4, 6}));
}

TEST_F(Debugging, TreesOfOtherStructuresNameTheLine) {
  const std::vector<Array> two{a, a}, one{a};
  EXPECT_THAT(error_of([&] { tree::map([](const Array& x, const Array& y) { return x + y; }, two, one); }),
              HasSubstr("pytree structure error: tree::map takes trees of one structure, got [*, *] with 2 leaves and [*] with 1 "
                        "[debugging_test.cpp:"));
}

}  // namespace
}  // namespace shardlab
