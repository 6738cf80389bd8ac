// shard_map over some axes of the mesh: per-device code along those, partitioned along the others. Against the whole computation, on
// permuted devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PartialManual : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({2, 4}, {"m", "a"}, {5, 1, 2, 0, 7, 4, 6, 3});
  Mesh turned = Mesh({4, 2}, {"a", "m"}, {3, 6, 0, 1, 7, 2, 5, 4});
  Mesh cube = Mesh({2, 2, 2}, {"m", "a", "n"}, {5, 1, 2, 0, 7, 4, 6, 3});
  Array on(const Array& x, const Mesh& where, const PartitionSpec& spec) { return device_put(x, Sharding(where, spec)); }
};

void expect_near(const Array& got, const Array& wanted, float tolerance = 2e-5F) {
  ASSERT_EQ(got.shape(), wanted.shape());
  std::vector<float> a = got.to_vector<float>(), b = wanted.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
}

TEST_F(PartialManual, TheOtherAxesArePartitioned) {
  Array x = wave({8, 16}), w = wave({16, 12}, 0.4);
  // Along m the code has its own rows; the contraction over a is the partitioner's.
  auto f = [&](const Mesh& where) {
    return [&where](const Array& v, const Array& u) {
      return shard_map([](const Array& row, const Array& whole) { return matmul(row, whole) * psum(sum(row), {"m"}); },
                       {.mesh = where, .in_specs = {P("m", nullptr), P()}, .out_specs = {P("m", nullptr)}, .axis_names = {"m"}})(v, u);
    };
  };
  Array wanted = matmul(x, w) * sum(x);
  for (const Mesh* where : {&mesh, &turned}) {
    expect_near(jit(f(*where))(x, w), wanted);
    Array got = jit(f(*where))(on(x, *where, P("m", "a")), on(w, *where, P("a", nullptr)));
    expect_near(got, wanted);
    Array columns = jit(f(*where))(on(x, *where, P("m", nullptr)), on(w, *where, P(nullptr, "a")));
    expect_near(columns, wanted);
    EXPECT_EQ(columns.sharding().spec_text(), "P('m', 'a')");
    expect_near(f(*where)(on(x, *where, P("a", "m")), on(w, *where, P("m", "a"))), wanted);
  }
}

// Both kinds of axes on one dimension, and every collective over a manual axis of values that are cut over an automatic one.
TEST_F(PartialManual, CollectivesOverManualAxesOfCutValues) {
  Array x = wave({16, 8});
  struct Case {
    const char* name;
    std::function<Array(const Array&)> code, whole;
    PartitionSpec out;
  };
  const std::vector<Case> cases = {
      {"psum", [](const Array& v) { return psum(v, {"m"}); },
       [](const Array& v) {
         return sum(v.reshape({2, 8, 8}), 0);
       },
       P()},
      {"pmax", [](const Array& v) { return pmax(v, {"m"}); },
       [](const Array& v) {
         return max(v.reshape({2, 8, 8}), 0);
       },
       P()},
      {"all_gather", [](const Array& v) { return pmean(all_gather(v, {"m"}, {.axis = 0, .tiled = true}), {"m"}); },
       [](const Array& v) { return v; }, P()},
      {"all_gather apart", [](const Array& v) { return all_gather(v, {"m"}, {.axis = 1, .tiled = true}); },
       [](const Array& v) {
         Array both = concatenate(
             {apply("slice", {v}, Attrs{{"start", std::vector<std::int64_t>{0, 0}}, {"limit", std::vector<std::int64_t>{8, 8}}}, {}).at(0),
              apply("slice", {v}, Attrs{{"start", std::vector<std::int64_t>{8, 0}}, {"limit", std::vector<std::int64_t>{16, 8}}}, {})
                  .at(0)},
             1);
         return concatenate({both, both}, 0);
       },
       P("m")},
      {"ppermute",
       [](const Array& v) {
         return ppermute(v, {"m"}, {{0, 1}, {1, 0}});
       },
       [](const Array& v) { return roll(v, 8, 0); }, P("m")},
      {"ppermute with a hole",
       [](const Array& v) {
         return ppermute(v, {"m"}, {{0, 1}});
       },
       [](const Array& v) {
         return roll(v, 8, 0) * (arange(16, float32) >= 8.0).reshape({16, 1});
       },
       P("m")},
      {"psum_scatter", [](const Array& v) { return psum_scatter(v, {"m"}, {.scatter_dimension = 0, .tiled = true}); },
       [](const Array& v) {
         return sum(v.reshape({2, 8, 8}), 0);
       },
       P("m")},
      {"axis_index", [](const Array& v) { return v * astype(axis_index({"m"}), float32); },
       [](const Array& v) {
         return v * (arange(16, float32) >= 8.0).reshape({16, 1});
       },
       P("m")},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    for (const Mesh* where : {&mesh, &turned}) {
      auto f =
          shard_map(each.code, {.mesh = *where, .in_specs = {P("m")}, .out_specs = {each.out}, .check_vma = false, .axis_names = {"m"}});
      for (const PartitionSpec& spec : {P(), P("m", "a"), P(SpecEntry{"m", "a"}), P("a", "m"), P(SpecEntry{"a", "m"}), P(nullptr, "a")})
        expect_near(jit(f)(on(x, *where, spec)), each.whole(x));
    }
  }
}

TEST_F(PartialManual, ConstraintsLoopsAndBranchesInside) {
  Array x = on(wave({8, 16}), cube, P("m", "a"));
  auto code = [&](const Array& v) {
    Array held = with_sharding_constraint(v * 2.0, Sharding(cube, P("n", "a")));
    Array looped = fori_loop(
        0, 3, [](const Array&, const Array& c) { return sin(c) + psum(sum(c), {"m"}) * 0.01; }, held);
    return cond(
        psum(sum(looped), {"m"}) > 1e6, [](const Array& c) { return c; }, [](const Array& c) { return cos(c); }, looped);
  };
  auto f = shard_map(code, {.mesh = cube, .in_specs = {P("m")}, .out_specs = {P("m")}, .axis_names = {"m"}});
  Array wanted = wave({8, 16}) * 2.0;
  for (int i = 0; i < 3; ++i) wanted = sin(wanted) + sum(wanted) * 0.01;
  expect_near(jit(f)(x), cos(wanted));
  // Manual over two of three axes, in another order than the mesh's.
  auto both = shard_map(
      [](const Array& v) {
        return psum(v, {"n", "m"});
      },
      {.mesh = cube, .in_specs = {P(SpecEntry{"n", "m"})}, .out_specs = {P()}, .axis_names = {"n", "m"}});
  expect_near(jit(both)(x), sum(wave({8, 16}).reshape({4, 2, 16}), 0));
}

TEST_F(PartialManual, DerivativesAndBatches) {
  Array x = wave({8, 16}), w = wave({16, 4}, 0.4);
  auto f = [&](const Array& v, const Array& u) {
    return shard_map([](const Array& row, const Array& whole) { return sin(matmul(row, whole)) * psum(sum(row * row), {"m"}); },
                     {.mesh = mesh, .in_specs = {P("m"), P()}, .out_specs = {P("m")}, .axis_names = {"m"}})(v, u);
  };
  auto plain = [](const Array& v, const Array& u) { return sin(matmul(v, u)) * sum(v * v); };
  auto loss = [](auto g) { return [g](const Array& v, const Array& u) { return sum(square(g(v, u))); }; };
  Array dx = on(x, mesh, P("m", "a")), dw = on(w, mesh, P("a"));
  auto [gx, gw] = jit(grad<0, 1>(loss(f)))(dx, dw);
  auto [wx, ww] = grad<0, 1>(loss(plain))(x, w);
  expect_near(gx, wx, 1e-4F);
  expect_near(gw, ww, 1e-4F);
  expect_near(std::get<1>(jvp(f, std::tuple(dx, dw), std::tuple(dx, dw))), std::get<1>(jvp(plain, std::tuple(x, w), std::tuple(x, w))),
              1e-4F);
  Array batch = wave({3, 8, 16});
  expect_near(vmap(f, {.in_axes = {0, std::nullopt}})(batch, w), vmap(plain, {.in_axes = {0, std::nullopt}})(batch, w), 1e-4F);
}

TEST_F(PartialManual, WhatIsRecorded) {
  Array x = on(wave({8, 16}), mesh, P("m", "a")), w = on(wave({16, 4}), mesh, P("a"));
  auto f = shard_map([](const Array& row, const Array& whole) { return matmul(row, whole); },
                     {.mesh = mesh, .in_specs = {P("m"), P()}, .out_specs = {P("m")}, .axis_names = {"m"}});
  std::string text = jit(f).lower(x, w).compile().as_text();
  EXPECT_THAT(text, HasSubstr("all-reduce"));  // over a, inside
  EXPECT_THAT(text, Not(HasSubstr("all-gather")));
}

TEST_F(PartialManual, Refused) {
  Array x = wave({8, 16});
  auto run = [&](
                 ShardMapOptions options, std::function<Array(const Array&)> code = [](const Array& v) { return v; }) {
    options.mesh = mesh;
    return error_of([&] { shard_map(code, options)(x); });
  };
  EXPECT_THAT(
      run({.in_specs = {P("m", "a")}, .out_specs = {P("m")}, .axis_names = {"m"}}),
      HasSubstr(
          "shard_map in_specs argument must refer to an axis marked as manual ({m}), but:\n\n  in_specs[0] refers to 'a'\n\nCheck the "
          "in_specs values passed to shard_map."));
  EXPECT_THAT(run({.in_specs = {P("m")}, .out_specs = {P("a")}, .axis_names = {"m"}}), HasSubstr("out_specs[0] refers to 'a'"));
  EXPECT_THAT(run({.in_specs = {P()}, .out_specs = {P()}, .axis_names = {"z"}}),
              HasSubstr("jax.shard_map requires axis_names={z} to be a subset of mesh.axis_names={m, a}"));
  EXPECT_THAT(run({.in_specs = {P("m")}, .out_specs = {P("m")}, .axis_names = {"m"}}, [](const Array& v) { return psum(v, {"a"}); }),
              HasSubstr("unbound axis name: a"));
  EXPECT_THAT(run({.in_specs = {P("m")}, .out_specs = {P("m")}, .axis_names = {"m"}},
                  [&](const Array& v) { return with_sharding_constraint(v, Sharding(mesh, P("a", "m"))); }),
              HasSubstr("pspec P('a', 'm') contains a manual axes (m) of mesh which is not allowed. If you are using a "
                        "with_sharding_constraint under a shard_map, only use the mesh axis in PartitionSpec which are not manual"));
  EXPECT_THAT(run({.in_specs = {P("m")}, .out_specs = {P()}, .axis_names = {"m"}}), HasSubstr("could not infer replication over any axes"));
}

}  // namespace
}  // namespace shardlab
