// vmap with a named axis: collectives over the batch, through other transformations and beside mesh axes. Values are those of JAX 0.10.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;

class VmapNames : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Array x = arange(12.0).reshape({3, 4});
};

std::vector<float> values_of(const Array& x) { return x.astype(float32).to_vector<float>(); }
Shape shape(std::initializer_list<std::int64_t> sizes) { return sizes; }

TEST_F(VmapNames, ReductionsGoOverTheBatch) {
  auto over = [&](auto f) { return values_of(vmap(f, {.axis_name = "i"})(x)); };
  EXPECT_THAT(over([](const Array& r) { return psum(r, "i"); }), ElementsAre(12, 15, 18, 21, 12, 15, 18, 21, 12, 15, 18, 21));
  EXPECT_THAT(over([](const Array& r) { return pmean(r, "i"); }), ElementsAre(4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7));
  EXPECT_THAT(over([](const Array& r) { return pmax(sum(r), "i"); }), ElementsAre(38, 38, 38));
  EXPECT_THAT(over([](const Array& r) { return pmin(sum(r), "i"); }), ElementsAre(6, 6, 6));
  EXPECT_THAT(over([](const Array& r) { return sum(r) * axis_index("i") + double(axis_size("i")); }), ElementsAre(3, 25, 79));
  EXPECT_THAT(over([](const Array&) { return psum(ones({2}), "i"); }), ElementsAre(3, 3, 3, 3, 3, 3));  // not batched
}

TEST_F(VmapNames, AResultOfAReductionIsNotBatched) {
  Array total = vmap([](const Array& r) { return psum(r, "i"); }, {.out_axes = {std::nullopt}, .axis_name = "i"})(x);
  EXPECT_EQ(total.shape(), shape({4}));
  EXPECT_THAT(values_of(total), ElementsAre(12, 15, 18, 21));
}

TEST_F(VmapNames, GathersScattersAndPermutes) {
  auto over = [&](const Array& a, auto f) { return vmap(f, {.axis_name = "i"})(a); };
  Array gathered = over(x, [](const Array& r) { return all_gather(r, "i", {.axis = 1}); });
  EXPECT_EQ(gathered.shape(), shape({3, 4, 3}));
  EXPECT_THAT(values_of(gathered[0]), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_EQ(over(x, [](const Array& r) { return all_gather(r, "i", {.axis = 0, .tiled = true}); }).shape(), shape({3, 12}));
  Array y = arange(18.0).reshape({3, 3, 2});
  EXPECT_THAT(values_of(over(y, [](const Array& r) { return psum_scatter(r, "i"); })), ElementsAre(18, 21, 24, 27, 30, 33));
  Array tiled = over(y, [](const Array& r) { return psum_scatter(r, "i", {.tiled = true}); });
  EXPECT_EQ(tiled.shape(), shape({3, 1, 2}));
  Array swapped = over(y, [](const Array& r) { return all_to_all(r, "i", {.split_axis = 0, .concat_axis = 1}); });
  EXPECT_EQ(swapped.shape(), shape({3, 2, 3}));
  EXPECT_THAT(values_of(swapped[0]), ElementsAre(0, 6, 12, 1, 7, 13));
  Array turned = over(x, [](const Array& r) { return ppermute(r, "i", {{0, 1}, {1, 2}, {2, 0}}); });
  EXPECT_THAT(values_of(turned), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7));
  Array partly = over(x, [](const Array& r) { return ppermute(r, "i", {{0, 1}}); });
  EXPECT_THAT(values_of(partly), ElementsAre(0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0));
  EXPECT_THAT(values_of(over(x, [](const Array& r) { return pbroadcast(r, "i", 1); })[2]), ElementsAre(4, 5, 6, 7));
}

TEST_F(VmapNames, NestedNamesAreOrderedAsTheyAreNamed) {
  auto nested = [](auto f) { return vmap(vmap(f, {.axis_name = "j"}), {.axis_name = "i"}); };
  EXPECT_THAT(values_of(nested([](const Array& a) { return psum(a, {"i", "j"}); })(x)), ElementsAreArray(std::vector<float>(12, 66)));
  EXPECT_THAT(values_of(nested([](const Array& a) { return axis_index({"i", "j"}) + a * 0.0; })(x)), ElementsAreArray(values_of(x)));
  EXPECT_THAT(values_of(nested([](const Array& a) {
                return axis_index({"j", "i"}) + a * 0.0;
              })(x)),
              ElementsAre(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11));
  // An inner name hides an outer one.
  Array hidden = vmap(vmap([](const Array& a) { return psum(a, "i"); }, {.axis_name = "i"}), {.axis_name = "i"})(x);
  EXPECT_THAT(values_of(hidden), ElementsAre(6, 6, 6, 6, 22, 22, 22, 22, 38, 38, 38, 38));
}

TEST_F(VmapNames, DerivativesInsideAndOutside) {
  auto inside = grad([](const Array& r) { return sum(psum(r * r, "i")); });
  EXPECT_THAT(values_of(vmap(inside, {.axis_name = "i"})(x)), ElementsAre(0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66));
  auto outside = [](const Array& y) { return sum(vmap([](const Array& r) { return psum(r * r, "i") * r; }, {.axis_name = "i"})(y)); };
  EXPECT_THAT(values_of(grad(outside)(x)), ElementsAre(80, 137, 212, 305, 176, 257, 356, 473, 272, 377, 500, 641));
  auto again = grad(checkpoint([](const Array& a) { return sum(sin(psum(a, "i"))); }));
  EXPECT_THAT(values_of(vmap(again, {.axis_name = "i"})(x)[1]), ElementsAre(FloatNear(2.531562F, 1e-5F), FloatNear(-2.279064F, 1e-5F),
                                                                            FloatNear(1.980951F, 1e-5F), FloatNear(-1.643188F, 1e-5F)));
}

TEST_F(VmapNames, LoopsAndBranches) {
  auto scanned = [](const Array& a) {
    auto [carry, rows] =
        scan([](const Array& c, const Array& s) { return std::pair(c + psum(s, "i"), c * axis_index("i")); }, zeros({}, float32), a);
    return std::tuple{carry, rows};
  };
  auto [carry, rows] = vmap(scanned, {.axis_name = "i"})(x);
  EXPECT_THAT(values_of(carry), ElementsAre(66, 66, 66));
  EXPECT_THAT(values_of(rows), ElementsAre(0, 0, 0, 0, 0, 12, 27, 45, 0, 24, 54, 90));
  auto chosen = [](const Array& a) {
    return cond(
        a[0] > 3.0, [](const Array& v) { return psum(v, "i"); }, [](const Array& v) { return v; }, a);
  };
  EXPECT_THAT(values_of(vmap(chosen, {.axis_name = "i"})(x)), ElementsAre(0, 1, 2, 3, 12, 15, 18, 21, 12, 15, 18, 21));
}

TEST_F(VmapNames, MeshAxesBesideThem) {
  Array z = arange(24.0).reshape({3, 8});
  auto whole = [](const Array& v) { return psum(v, {"i", "x"}); };
  ShardMapOptions options{.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}};
  Array outside = vmap(shard_map(whole, options), {.axis_name = "i"})(z);
  ShardMapOptions rows{.mesh = mesh, .in_specs = {P(nullptr, "x")}, .out_specs = {P()}};
  Array inside = shard_map([&](const Array& v) { return vmap(whole, {.axis_name = "i"})(v); }, rows)(z);
  EXPECT_THAT(values_of(outside), ElementsAre(132, 144, 132, 144, 132, 144));
  EXPECT_THAT(values_of(inside), ElementsAreArray(values_of(outside)));
}

TEST_F(VmapNames, SpmdAxesCutTheBatch) {
  Array z = sin(arange(64.0)).reshape({8, 8});
  auto held = [&](const Array& v) { return with_sharding_constraint(sin(v), NamedSharding(mesh, P("y"))); };
  EXPECT_EQ(jit(vmap(held, {.spmd_axis_name = {"x"}}))(z).sharding().spec_text(), "P('x', 'y')");
  auto summed = [](const Array& v) { return psum(v, "i") + psum(v, "y") * axis_index("i"); };
  ShardMapOptions options{.mesh = mesh, .in_specs = {P("y")}, .out_specs = {P("y")}};
  auto over = [&](std::vector<std::string> axes) {
    return jit(vmap(shard_map(summed, options), {.axis_name = "i", .spmd_axis_name = std::move(axes)}))(z);
  };
  EXPECT_EQ(over({"x"}).sharding().spec_text(), "P('x', 'y')");
  std::vector<float> wanted = values_of(over({})), got = values_of(over({"x"}));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
  EXPECT_THAT(error_of([&] { jit(vmap(held, {.spmd_axis_name = {"y"}}))(z); }),
              HasSubstr("vmap spmd_axis_name ('y',) cannot appear in with_sharding_constraint spec, but got spec P('y',)"));
}

TEST_F(VmapNames, AxesAndSizes) {
  auto same = [](const Array& v) { return v; };
  EXPECT_EQ(vmap(same, {.out_axes = {-1}})(x).shape(), shape({4, 3}));
  Array counted =
      vmap([](const Array& v) { return v + axis_index("i"); }, {.in_axes = {std::nullopt}, .axis_name = "i", .axis_size = 3})(ones({2}));
  EXPECT_THAT(values_of(counted), ElementsAre(1, 1, 2, 2, 3, 3));
  std::map<std::string, Array> tree{{"b", ones({4})}, {"w", x}};
  auto both = [](const std::map<std::string, Array>& t) { return t.at("w") + t.at("b"); };
  EXPECT_EQ(vmap(both, {.in_axes = {std::nullopt, 0}})(tree).shape(), shape({3, 4}));  // one axis a leaf
  EXPECT_THAT(error_of([&] { vmap(both)(tree); }),
              HasSubstr("vmap got inconsistent sizes for array axes to be mapped:\n  * one axis had size 4: axis 0 of args[0]['b'] of type "
                        "float32[4];\n  * one axis had size 3: axis 0 of args[0]['w'] of type float32[3,4]"));
  EXPECT_THAT(error_of([&] { vmap(same, {.axis_size = 5})(x); }), HasSubstr("the `axis_size` argument was 5"));
  EXPECT_THAT(error_of([&] { vmap(same, {.in_axes = {std::nullopt}})(x); }),
              HasSubstr("vmap must have at least one non-None value in in_axes or axis_size must be specified"));
  EXPECT_THAT(error_of([&] { vmap(same, {.in_axes = {-3}})(x); }),
              HasSubstr("along axis -3, which implies that its rank should be at least 3, but is only 2 (its shape is (3, 4)): args[0]"));
  EXPECT_THAT(error_of([&] { vmap(same, {.out_axes = {2}})(x); }), HasSubstr("axis 2 is out of bounds for array of dimension 2"));
  EXPECT_THAT(
      error_of([&] {
        vmap([](const Array& v) { return std::tuple{v, std::map<std::string, Array>{{"k", v}}}; }, {.out_axes = {0, std::nullopt}})(x);
      }),
      HasSubstr("at vmap out_axes[1]['k'], got axis spec None but output was batched on axis 0"));
  EXPECT_THAT(error_of([&] { vmap(same, {.out_axes = {std::nullopt}, .axis_name = "i"})(x); }),
              HasSubstr("vmap has mapped output (axis_name=i) but out_axes is None"));
}

TEST_F(VmapNames, NamesThatAreNotBoundOrTwice) {
  auto over = [&](auto f) { return error_of([&] { vmap(f, {.axis_name = "i"})(x); }); };
  EXPECT_THAT(over([](const Array& r) { return psum(r, "j"); }),
              HasSubstr("Found an unbound axis name: j. To fix this, please call psum under `jax.shard_map`"));
  EXPECT_THAT(over([](const Array& r) { return psum(r, {"i", "i"}); }), HasSubstr("axis 'i' is named twice"));
  EXPECT_THAT(error_of([&] {
                vmap(shard_map([](const Array& v) { return v; }, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}}),
                     {.axis_name = "x"})(arange(24.0).reshape({3, 8}));
              }),
              HasSubstr("'x' is an axis of its mesh and the axis_name of a vmap around it"));
}

}  // namespace
}  // namespace shardlab
