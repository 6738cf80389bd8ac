// auto_axes and explicit_axes, and shardings in the types of nodes with bodies.
#include "runtime/exec/auto_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class AutoAxes : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"x", "y"}, {5, 1, 2, 0, 7, 4, 6, 3}, {AxisType::kExplicit, AxisType::kExplicit});
  Mesh plain = Mesh({4, 2}, {"x", "y"}, {5, 1, 2, 0, 7, 4, 6, 3});
  Array value = sin(arange(64, float32)).reshape({8, 8});
  Array on(const PartitionSpec& spec) { return device_put(value, Sharding(mesh, spec)); }
};

void expect_near(const Array& got, const Array& wanted) {
  std::vector<float> a = got.to_vector<float>(), b = wanted.to_vector<float>();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4F) << i;
}

Array product(const Array& a, const Array& b) { return matmul(a, b); }

TEST_F(AutoAxes, WhatIsAmbiguousInTypesIsThePartitionersChoice) {
  Array a = on(P(nullptr, "x")), b = on(P("x", nullptr));
  EXPECT_THAT(error_of([&] { jit(product)(a, b); }), HasSubstr("Contracting dimensions are sharded and it is ambiguous"));
  auto free = auto_axes(product, {.out_sharding = {P("y", nullptr)}});
  for (Array got : {jit(free)(a, b), free(a, b), jit([&](const Array& c, const Array& d) { return free(c, d) * 1.0; })(a, b)}) {
    expect_near(got, matmul(value, value));
    EXPECT_EQ(typeof_text(got), "float32[8@y,8]");
  }
  // A collision of operands, too.
  auto sum_of = auto_axes([](const Array& c, const Array& d) { return c + d; }, {.out_sharding = {P()}});
  expect_near(jit(sum_of)(a, b), value + value);
}

TEST_F(AutoAxes, ItsGradientsLieAsItsArguments) {
  Array a = on(P(nullptr, "x")), b = on(P("x", "y"));
  auto loss = [](const Array& c, const Array& d) {
    return sum(auto_axes([](const Array& u, const Array& v) { return sin(matmul(u, matmul(v, u))); }, {.out_sharding = {P("y")}})(c, d));
  };
  auto [ga, gb] = jit(grad<0, 1>(loss))(a, b);
  auto wanted = [](const Array& u, const Array& v) { return sum(sin(matmul(u, matmul(v, u)))); };
  auto [wa, wb] = grad<0, 1>(wanted)(value, value);
  expect_near(ga, wa);
  expect_near(gb, wb);
  EXPECT_EQ(typeof_text(ga), "float32[8,8@x]");
  EXPECT_EQ(typeof_text(gb), "float32[8@x,8@y]");
}

TEST_F(AutoAxes, OnAutoAxesItIsTheFunctionItself) {
  Array a = device_put(value, Sharding(plain, P("x", nullptr)));
  expect_near(jit(auto_axes(product, {.out_sharding = {P("x")}}))(a, a), matmul(value, value));
  EXPECT_THAT(error_of([&] { auto_axes(product)(a, a); }), HasSubstr("Missing required keyword argument: 'out_sharding'"));
  EXPECT_THAT(error_of([&] { jit(auto_axes(product, {.out_sharding = {P()}, .axes = {"z"}}))(on(P()), on(P())); }),
              HasSubstr("axis 'z' is not in Mesh('x': 4, 'y': 2"));
}

TEST_F(AutoAxes, ExplicitAxesTypeAFunctionOnAutoAxes) {
  Array a = device_put(value, Sharding(plain, P("x", nullptr)));
  auto typed = explicit_axes([](const Array& u) { return sin(u) * 2.0; }, {.in_sharding = {P(nullptr, "y")}});
  Array got = jit(typed)(a);
  expect_near(got, sin(value) * 2.0);
  EXPECT_EQ(typeof_text(got), "float32[8,8@y]");
  auto ambiguous = explicit_axes(product, {.in_sharding = {P(nullptr, "x"), P("x", nullptr)}});
  EXPECT_THAT(error_of([&] { jit(ambiguous)(a, a); }), HasSubstr("Contracting dimensions are sharded and it is ambiguous"));
  auto inside = explicit_axes([](const Array& u, const Array& v) { return auto_axes(product, {.out_sharding = {P("x")}})(u, v); },
                              {.in_sharding = {P(nullptr, "x"), P("x", nullptr)}});
  expect_near(jit(inside)(a, a), matmul(value, value));
  EXPECT_THAT(error_of([&] { explicit_axes(product)(a, a); }), HasSubstr("Missing required keyword argument: 'in_sharding'"));
  EXPECT_THAT(error_of([&] { jit(explicit_axes(product, {.in_sharding = {P()}}))(value, value); }),
              HasSubstr("Context mesh cannot be empty."));
}

// ---- Nodes with bodies.

TEST_F(AutoAxes, LoopsKeepTheTypesOfWhatTheyCarry) {
  Array a = on(P("x", "y"));
  auto looped = jit([](const Array& c) {
    return fori_loop(
        0, 3, [](const Array&, const Array& v) { return sin(v); }, c);
  });
  EXPECT_EQ(typeof_text(looped(a)), "float32[8@x,8@y]");
  expect_near(looped(a), sin(sin(sin(value))));
  auto changing = jit([&](const Array& c) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& v) { return reshard(sin(v), Sharding(mesh, P("x"))); }, c);
  });
  EXPECT_THAT(
      error_of([&] { changing(a); }),
      HasSubstr("the input carry component carry[1] has type float32[8@x,8@y] but the corresponding output carry component has type "
                "float32[8@x,8], so the shardings do not match."));
  auto ambiguous = jit([](const Array& c, const Array& d) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& v) { return v + d; }, c);
  });
  EXPECT_THAT(error_of([&] { ambiguous(a, on(P("y", "x"))); }), HasSubstr("add got incompatible shardings for broadcasting"));
}

TEST_F(AutoAxes, ScansNeedAWholeLeadingDimension) {
  auto rows = jit([](const Array& xs) { return map([](const Array& row) { return row * 2.0; }, xs); });
  EXPECT_EQ(typeof_text(rows(on(P(nullptr, "y")))), "float32[8,8@y]");
  EXPECT_THAT(error_of([&] { rows(on(P("x", nullptr))); }), HasSubstr("0th dimension of all xs should be replicated. Got P('x', None)"));
  auto total = jit(grad([](const Array& xs) { return sum(map([](const Array& row) { return sin(row); }, xs)); }));
  Array got = total(on(P(nullptr, "y")));
  expect_near(got, cos(value));
  EXPECT_EQ(typeof_text(got), "float32[8,8@y]");
}

TEST_F(AutoAxes, BranchesHaveOneType) {
  auto chosen = jit([](const Array& c) {
    return cond(
        sum(c) > 0.0, [](const Array& v) { return sin(v); }, [](const Array& v) { return v * 2.0; }, c);
  });
  EXPECT_EQ(typeof_text(chosen(on(P("x", "y")))), "float32[8@x,8@y]");
  auto differing = jit([&](const Array& c) {
    return cond(
        sum(c) > 0.0, [](const Array& v) { return sin(v); }, [&](const Array& v) { return reshard(v, Sharding(mesh, P())); }, c);
  });
  EXPECT_THAT(error_of([&] { differing(on(P("x", "y"))); }), HasSubstr("cond branches must have equal output types but they differ."));
}

TEST_F(AutoAxes, PerDeviceCodeTakesWhatItIsGiven) {
  auto doubled = [&](const PartitionSpec& in) {
    return jit([=, this](const Array& c) {
      return shard_map([](const Array& v) { return v * 2.0; }, {.mesh = mesh, .in_specs = {in}, .out_specs = {in}})(c) + c;
    });
  };
  Array got = doubled(P("x", "y"))(on(P("x", "y")));
  expect_near(got, value * 3.0);
  EXPECT_EQ(typeof_text(got), "float32[8@x,8@y]");
  EXPECT_THAT(
      error_of([&] { doubled(P("y", "x"))(on(P("x", "y"))); }),
      HasSubstr("in_specs passed to shard_map: P('y', 'x') does not match the specs of the input: P('x', 'y') for arg: float32[8@x,8@y]."));
}

}  // namespace
}  // namespace shardlab
