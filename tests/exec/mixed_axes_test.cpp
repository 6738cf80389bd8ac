// Meshes of Explicit and Auto axes together: types on the Explicit ones, propagation on the others. Types, shardings and texts are those of
// JAX 0.10; scenario documents with its records are in tests/scenarios/goldens/transforms.jsonl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/auto_axes.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/unconstrained.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;

class MixedAxes : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7}, {AxisType::kExplicit, AxisType::kAuto});
  Array value = sin(arange(64, float32)).reshape({8, 8});
  Array on(const PartitionSpec& spec) { return device_put(value, Sharding(mesh, spec)); }
};

// "float32[8@x,8] P('x', 'y')": its type, and how it lies.
std::string seen(const Array& x) { return typeof_text(x) + " " + x.sharding().spec_text(); }

TEST_F(MixedAxes, TypesTellTheExplicitAxesAlone) {
  EXPECT_EQ(typeof_text(on(P("x", "y"))), "float32[8@x,8]");
  EXPECT_EQ(typeof_text(on(P("y", "x"))), "float32[8,8@x]");
  EXPECT_EQ(typeof_text(on(P(SpecEntry{"y", "x"}))), "float32[8@x,8]");
}

TEST_F(MixedAxes, OpsAreTypedAndTheOtherAxesPropagate) {
  EXPECT_EQ(seen(on(P("x")) + on(P("y"))), "float32[8@x,8] P('x', None)");
  EXPECT_EQ(seen(on(P("x")) + on(P(nullptr, "y"))), "float32[8@x,8] P('x', 'y')");
  EXPECT_EQ(seen(matmul(on(P(nullptr, "y")), on(P("y")))), "float32[8,8] P(None, None)");
  EXPECT_EQ(seen(matmul(on(P("x")), on(P(nullptr, "y")))), "float32[8@x,8] P('x', 'y')");
  EXPECT_EQ(seen(sum(on(P("x", "y")), 0)), "float32[8] P('y',)");
  EXPECT_EQ(seen(reshape(on(P("x", "y")), {64})), "float32[64@x] P('x',)");
  EXPECT_EQ(seen(concatenate({on(P("x", "y")), on(P("x"))})), "float32[16@x,8] P('x', 'y')");
  EXPECT_THAT(error_of([&] { on(P("x", "y")) + on(P("y", "x")); }),
              HasSubstr("add operation with inputs: f32[8@x,8], f32[8,8@x] produces an illegally sharded result: f32[8@x,8@x]"));
  EXPECT_THAT(error_of([&] { matmul(on(P(nullptr, "x")), on(P("x", "y"))); }),
              HasSubstr("Contracting dimensions are sharded and it is ambiguous how the output should be sharded."));
  EXPECT_THAT(error_of([&] { concatenate({on(P("x")), on(P("y"))}); }), HasSubstr("All operands should have the same sharding."));
  EXPECT_THAT(error_of([&] { cumsum(on(P("x")), {.axis = 0}); }), HasSubstr("Input should be unsharded over the axis being reduced."));
  EXPECT_EQ(seen(sort(on(P("y")), {.axis = 0})), "float32[8,8] P('y', None)");
}

TEST_F(MixedAxes, ReshardAndOutShardingSpeakOfExplicitAxes) {
  for (bool traced : {false, true}) {
    auto as = [&](const Array& x, const PartitionSpec& spec) {
      auto moved = [&](const Array& v) { return reshard(v, spec); };
      return traced ? jit(moved)(x) : moved(x);
    };
    EXPECT_EQ(seen(as(on(P("x", "y")), P(nullptr, "x"))), "float32[8,8@x] P(None, 'x')");
    EXPECT_EQ(seen(as(on(P("y")), P(nullptr, "x"))), "float32[8,8@x] P('y', 'x')");
    EXPECT_THAT(error_of([&] { as(on(P("x")), P("x", "y")); }),
                HasSubstr("PartitionSpec passed to reshard cannot contain axis names that are of type Auto or Manual. Got PartitionSpec: "
                          "P('x', 'y') with axis name: y of type: AxisType.Auto"));
  }
  EXPECT_EQ(seen(dot(on(P(nullptr, "x")), on(P("x")), {.out_sharding = P("x")})), "float32[8@x,8] P('x', None)");
  EXPECT_THAT(error_of([&] { dot(on(P(nullptr, "x")), on(P("x")), {.out_sharding = P("y")}); }), HasSubstr("of type: AxisType.Auto"));
}

TEST_F(MixedAxes, ConstraintsSpeakOfAutoAxes) {
  auto held = [&](const PartitionSpec& spec) {
    return jit([&](const Array& v) { return with_sharding_constraint(sin(v), NamedSharding(mesh, spec)); })(on(P("x")));
  };
  EXPECT_EQ(seen(held(P(nullptr, "y"))), "float32[8@x,8] P('x', 'y')");
  EXPECT_EQ(seen(held(P("y"))), "float32[8@x,8] P(('x', 'y'), None)");
  EXPECT_THAT(
      error_of([&] { held(P("x", "y")); }),
      HasSubstr(
          "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh. Got spec=P('x', 'y')"));
  auto open = jit([&](const Array& v) { return with_sharding_constraint(sin(v), mesh, P(UNCONSTRAINED, "y")); });
  EXPECT_EQ(seen(open(on(P("x")))), "float32[8@x,8] P('x', 'y')");
}

TEST_F(MixedAxes, GradientsHaveTheTypesOfTheirArguments) {
  auto loss = [](const Array& u, const Array& v) { return sum(sin(matmul(u, v))); };
  auto [du, dv] = jit(grad<0, 1>(loss))(on(P("x", "y")), on(P(nullptr, "y")));
  auto [wu, wv] = grad<0, 1>(loss)(value, value);
  EXPECT_EQ(seen(du), "float32[8@x,8] P('x', None)");
  EXPECT_EQ(seen(dv), "float32[8,8] P(None, 'y')");
  expect_same(du, wu, "du", 1e-4F);
  expect_same(dv, wv, "dv", 1e-4F);
  // The contraction of the backward pass is over the cut batch; weights that are cut get their part of it.
  Mesh typed = Mesh({4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7}, {AxisType::kExplicit, AxisType::kExplicit});
  auto placed = [&](const PartitionSpec& spec) { return device_put(value, Sharding(typed, spec)); };
  auto sharded = [](const Array& u, const Array& v) { return sum(sin(dot(u, v, {.out_sharding = P("x", "y")}))); };
  auto [eu, ev] = jit(grad<0, 1>(sharded))(placed(P("x")), placed(P("x", "y")));
  EXPECT_EQ(typeof_text(eu), "float32[8@x,8]");
  EXPECT_EQ(typeof_text(ev), "float32[8@x,8@y]");
  expect_same(ev, wv, "ev", 1e-4F);
}

TEST_F(MixedAxes, SomeAxesChangeTheirTypesForAFunction) {
  auto product = [](const Array& u, const Array& v) { return matmul(u, v); };
  Array a = on(P(nullptr, "x")), b = on(P("x"));
  EXPECT_EQ(seen(jit(auto_axes(product, {.out_sharding = {P("x")}, .axes = {"x"}}))(a, b)), "float32[8@x,8] P('x', None)");
  EXPECT_THAT(error_of([&] { jit(auto_axes(product, {.out_sharding = {P("x")}, .axes = {"y"}}))(a, b); }),
              HasSubstr("Contracting dimensions are sharded and it is ambiguous"));
  auto twice = [](const Array& u) { return sin(u) * 2.0; };
  EXPECT_EQ(seen(jit(explicit_axes(twice, {.in_sharding = {P("x", "y")}, .axes = {"y"}}))(b)), "float32[8@x,8] P('x', 'y')");
  EXPECT_EQ(seen(jit(explicit_axes(twice, {.in_sharding = {P(nullptr, "y")}}))(b)), "float32[8,8] P(None, 'y')");
  EXPECT_THAT(error_of([&] { jit(auto_axes(product, {.out_sharding = {P("x", "y")}}))(a, b); }), HasSubstr("of type: AxisType.Auto"));
  EXPECT_THAT(error_of([&] { jit(auto_axes(product, {.out_sharding = {P("x")}, .axes = {"q"}}))(a, b); }), HasSubstr("axis 'q' is not in"));
}

TEST_F(MixedAxes, LoopsBranchesAndPerDeviceCode) {
  auto looped = jit([](const Array& u) {
    return fori_loop(
        0, 3, [](const Array&, const Array& v) { return sin(v); }, u);
  });
  EXPECT_EQ(seen(looped(on(P("x", "y")))), "float32[8@x,8] P('x', 'y')");
  auto changing = jit([&](const Array& u) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& v) { return reshard(v, P(nullptr, "x")); }, u);
  });
  EXPECT_THAT(error_of([&] { changing(on(P("x", "y"))); }), HasSubstr("carry output must have equal types, but they differ"));
  auto doubled = [&](const ShardMapOptions& options) {
    return jit([&](const Array& u) { return shard_map([](const Array& v) { return v * 2.0; }, options)(u); })(on(P("x", "y")));
  };
  EXPECT_EQ(seen(doubled({.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}})), "float32[8@x,8] P('x', 'y')");
  EXPECT_EQ(seen(doubled({.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}, .axis_names = {"x"}})), "float32[8@x,8] P('x', 'y')");
  EXPECT_EQ(seen(doubled({.mesh = mesh, .in_specs = {P(nullptr, "x")}, .out_specs = {P(nullptr, "x")}})), "float32[8,8@x] P(None, 'x')");
}

TEST_F(MixedAxes, CodeOverOtherAxesIsTypedInsideAndWholeAtItsEdges) {
  std::string inside;
  const ShardMapOptions over_y{.mesh = mesh, .in_specs = {P(nullptr, "y")}, .out_specs = {P(nullptr, "y")}, .axis_names = {"y"}};
  auto code = [&](const Array& v) {
    inside = typeof_text(sin(v));
    return sin(v);
  };
  auto mapped = jit([&](const Array& u) { return shard_map(code, over_y)(u); });
  const Array result = mapped(on(P("x", "y")));
  EXPECT_EQ(inside, "float32[8@x,4]{V:y}");
  EXPECT_EQ(seen(result), "float32[8,8] P(None, 'y')");
  EXPECT_THAT(mapped.lower(on(P("x", "y"))).compile().as_text(), HasSubstr("all-gather"));
}

TEST_F(MixedAxes, BatchesOverExplicitAxes) {
  auto added = [](const Array& u, const Array& v) { return u + v; };
  EXPECT_EQ(seen(vmap([](const Array& u) { return sin(u); })(on(P("x")))), "float32[8@x,8] P('x', None)");
  EXPECT_THAT(
      error_of([&] { vmap(added)(on(P("x")), on(P())); }),
      HasSubstr("Mapped away dimension of inputs passed to vmap should be sharded the same. Got inconsistent axis specs: x vs None"));
  Array row = device_put(value[0], Sharding(mesh, P("x")));
  EXPECT_THAT(
      error_of([&] {
        vmap(added, {.in_axes = {0, std::nullopt}})(on(P("x")), row);
      }),
      HasSubstr("Unmapped values passed to vmap cannot be sharded along the mesh axis you are vmapping over. Got type: float32[8@x]"));
  EXPECT_THAT(error_of([&] { vmap([](const Array& u) { return u; }, {.spmd_axis_name = {"y"}})(on(P("x"))); }),
              HasSubstr("Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed."));
  EXPECT_THAT(error_of([&] { jit(vmap([&](const Array& u) { return reshard(sin(u), P("x")); }))(on(P("x"))); }),
              HasSubstr("has duplicate entries for `x`"));
}

}  // namespace
}  // namespace shardlab
