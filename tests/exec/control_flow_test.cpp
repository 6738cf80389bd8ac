// Loops and branches: eager and in jit, sharded, nested, with collectives inside, over processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "tests/support/eight_devices.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int32_t>;

class ControlFlow : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"a", "b"}, {0, 1, 2, 3, 4, 5, 6, 7});
};

TEST_F(ControlFlow, WhileRunsNoneOneAndManyTimes) {
  for (int limit : {0, 1, 1000}) {
    auto below = [&](const Array& i) { return less(i, limit); };
    auto next = [](const Array& i) { return i + 1; };
    EXPECT_EQ(while_loop(below, next, zeros({}, DType::kInt32)).item<std::int32_t>(), limit);
    auto in_jit = jit([&](const Array& i) { return while_loop(below, next, i * 1); });
    EXPECT_EQ(in_jit(zeros({}, DType::kInt32)).item<std::int32_t>(), limit);
  }
}

TEST_F(ControlFlow, ScanStacksItsResults) {
  auto step = [](const Array& carry, const Array& x) { return std::tuple(carry + x, carry * 10); };
  for (bool reverse : {false, true}) {
    auto [last, ys] = scan(step, zeros({}, DType::kInt32), arange(4), {.reverse = reverse});
    EXPECT_EQ(last.item<std::int32_t>(), 6);
    EXPECT_EQ(ys.to_vector<std::int32_t>(), reverse ? (Ints{60, 50, 30, 0}) : (Ints{0, 0, 10, 30}));
  }
  auto [last, ys] = scan(step, ones({}, DType::kInt32), zeros({0}, DType::kInt32));
  EXPECT_EQ(last.item<std::int32_t>(), 1);
  EXPECT_EQ(ys.shape(), Shape{0});
}

TEST_F(ControlFlow, ForiLoopCondSwitchMap) {
  EXPECT_EQ(fori_loop(
                2, 6, [](const Array& i, const Array& x) { return x + i; }, zeros({}, DType::kInt32))
                .item<std::int32_t>(),
            14);
  EXPECT_EQ(fori_loop(
                6, 2, [](const Array& i, const Array& x) { return x + i; }, zeros({}, DType::kInt32))
                .item<std::int32_t>(),
            0);
  Array x = arange(3);
  for (bool which : {false, true}) {
    Array y = cond(
        which, [](const Array& v) { return v + 1; }, [](const Array& v) { return v * 2; }, x);
    EXPECT_EQ(y.to_vector<std::int32_t>(), which ? (Ints{1, 2, 3}) : (Ints{0, 2, 4}));
  }
  std::vector<ArrayFunction> branches;
  for (int i = 0; i < 3; ++i) branches.push_back([i](const std::vector<Array>& v) { return std::vector<Array>{v[0] + i * 10}; });
  for (auto [index, add] : {std::pair{-5, 0}, {1, 10}, {9, 20}})  // clamped
    EXPECT_EQ(switch_branches(index, branches, {x}, Where{}).at(0).to_vector<std::int32_t>(), (Ints{add, add + 1, add + 2}));
  auto given = std::tuple{[](const Array& v) { return v; }, [](const Array& v) { return v * 2; }, [](const Array& v) { return -v; }};
  EXPECT_EQ(switch_(1, given, x).to_vector<std::int32_t>(), (Ints{0, 2, 4}));
  auto chosen = jit([&](const Array& i, const Array& v) { return switch_(i, given, v); });
  EXPECT_EQ(chosen(full({}, 2), x).to_vector<std::int32_t>(), (Ints{0, -1, -2}));
  EXPECT_EQ(map([](const Array& v) { return v * v; }, arange(4)).to_vector<std::int32_t>(), (Ints{0, 1, 4, 9}));
}

// What bodies take from around them: traced values, arrays, in both bodies of a loop.
TEST_F(ControlFlow, BodiesCapture) {
  Array limit = array<std::int32_t>({5});
  auto f = jit([&](const Array& step) {
    Array doubled = step * 2;
    return while_loop([&](const Array& i) { return less(sum(i), sum(limit)); }, [&](const Array& i) { return i + doubled; }, step * 0);
  });
  EXPECT_EQ(f(array<std::int32_t>({1})).to_vector<std::int32_t>(), Ints{6});
}

// The carry's sharding is found by propagation; the loop's product needs an all-reduce each time.
TEST_F(ControlFlow, AShardedCarryKeepsItsSharding) {
  auto f = jit([](const Array& x, const Array& w) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& v) { return tanh(matmul(v, w)); }, x);
  });
  Array x = sin(arange(64)).reshape({8, 8}), w = cos(arange(64)).reshape({8, 8});
  std::vector<float> plain = f(x, w).to_vector<float>();
  Array sharded = f(device_put(x, NamedSharding(mesh, P("a", "b"))), device_put(w, NamedSharding(mesh, P("b"))));
  EXPECT_EQ(sharded.sharding().spec_text(), "P('a', 'b')");  // as JAX
  std::vector<float> got = sharded.to_vector<float>();
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(got[i], plain[i], 2e-6);
}

// The result shardings that JAX 0.10.2 gives.
TEST_F(ControlFlow, ShardingsAreJaxs) {
  Array x = device_put(sin(arange(64)).reshape({8, 8}), NamedSharding(mesh, P("a", "b")));
  Array w = device_put(cos(arange(64)).reshape({8, 8}), NamedSharding(mesh, P("b")));
  auto choice = jit([](const Array& a, const Array& b) {
    std::vector<ArrayFunction> branches{[](const std::vector<Array>& v) { return std::vector<Array>{v[0] + v[1]}; },
                                        [](const std::vector<Array>& v) { return std::vector<Array>{matmul(v[0], v[1])}; }};
    return switch_branches(Operand(greater(sum(a), 0), Where{}), branches, {a, b}, Where{}).at(0);
  });
  EXPECT_EQ(choice(x, w).sharding().spec_text(), "P('a', 'b')");
  auto turns = jit([](const Array& a) {
    auto below = [](const std::vector<Array>& v) { return std::vector<Array>{less(v[0], 3)}; };
    auto turn = [](const std::vector<Array>& v) { return std::vector<Array>{v[0] + 1, transpose(v[1])}; };
    return while_loop(below, turn, {zeros({}, DType::kInt32), a}, Where{}).at(1);
  });
  EXPECT_EQ(turns(x).sharding().spec_text(), "P('a', 'b')");
}

TEST_F(ControlFlow, NestedLoopsAndShardMaps) {
  // shard_map in scan
  auto f = jit([&](const Array& x) {
    return fori_loop(
        0, 3,
        [&](const Array&, const Array& v) {
          return shard_map(
              [](const Array& part) {
                return ppermute(part, {"a"}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
              },
              {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(v);
        },
        x);
  });
  EXPECT_EQ(f(device_put(arange(4), NamedSharding(mesh, P("a")))).to_vector<std::int32_t>(), (Ints{1, 2, 3, 0}));
  // scan in shard_map, with a collective in the inner of two loops
  auto inside = [](const Array& part) {
    return fori_loop(
        0, 2,
        [](const Array&, const Array& v) {
          return fori_loop(
              0, 3, [](const Array& i, const Array& u) { return u + i + pmax(u, {"a"}) * 0; }, v);
        },
        part);
  };
  Array y = shard_map(inside, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(arange(4));
  EXPECT_EQ(y.to_vector<std::int32_t>(), (Ints{6, 7, 8, 9}));
}

// Per-device predicates: devices run on their own and rejoin; a collective that some of its group come to is refused, with them named.
TEST_F(ControlFlow, DevicesMayGoDifferentWays) {
  auto count = [](const Array& part) {
    Array own = axis_index({"a"});
    Array steps = while_loop([&](const Array& i) { return less(i, own); }, [](const Array& i) { return i + 1; }, own * 0);
    Array sign = cond(
        greater(own, 1), [](const Array& v) { return v * 0 + 1; }, [](const Array& v) { return v * 0 - 1; }, part);
    return part * 0 + steps * sign;
  };
  Array y = shard_map(count, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(arange(4));
  EXPECT_EQ(y.to_vector<std::int32_t>(), (Ints{0, -1, 2, 3}));
  auto meets = [](const Array& part) {
    return cond(
        greater(axis_index({"a"}), 1), [](const Array& v) { return pcast(psum(v, {"a"}), {"a"}, "varying"); },
        [](const Array& v) { return v; }, part);
  };
  EXPECT_THAT(
      error_of([&] { shard_map(meets, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(arange(4)).to_vector<std::int32_t>(); }),
      HasSubstr("devices [4, 6] came to it, devices [0, 2] took another branch"));
}

TEST_F(ControlFlow, TypesMustStay) {
  EXPECT_THAT(error_of([] {
                fori_loop(
                    0, 2, [](const Array&, const Array& x) { return x * 0.5; }, arange(3));
              }),
              HasSubstr("scan body function carry input and carry output must have equal types, but they differ"));
  EXPECT_THAT(error_of([] { while_loop([](const Array& x) { return x; }, [](const Array& x) { return x; }, arange(3)); }),
              HasSubstr("cond_fun must return a boolean scalar, but got output type(s) [int32[3]]"));
  EXPECT_THAT(error_of([] {
                cond(
                    true, [](const Array& x) { return x * 0.5; }, [](const Array& x) { return x; }, arange(3));
              }),
              HasSubstr("cond branches must have equal output types but they differ"));
}

// Every iteration of a loop over processes moves data; all agree.
TEST(ControlFlowProcesses, LoopsWithCollectives) {
  for (const std::vector<int>& layout : {std::vector<int>{4}, {2, 2}, {1, 1, 1, 1}})
    testing::on_job(layout, [&] {
      Mesh mesh({4}, {"a"}, {2, 0, 3, 1});
      Array x = device_put(arange(4) + 1, NamedSharding(mesh, P("a")));
      auto f = jit([&](const Array& v) {
        return shard_map(
            [](const Array& part) {
              return while_loop([](const Array& u) { return less(sum(psum(u, {"a"})), 100); },
                                [](const Array& u) {
                                  return u + ppermute(u, {"a"}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
                                },
                                part);
            },
            {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(v);
      });
      Array y = sum(f(x));
      EXPECT_EQ(y.item<std::int32_t>(), 160);  // 10 doubled until it is 100 or more
    });
}

// Devices that no collective joins may loop and branch on their own, those that one joins go on together.
TEST(ControlFlowProcesses, GroupsMayGoDifferentWays) {
  for (const std::vector<int>& layout : {std::vector<int>{8}, {4, 4}, {5, 3}, {2, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1}})
    for (const std::vector<int>& devices : {std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}, {6, 0, 3, 1, 7, 5, 2, 4}})
      testing::on_job(layout, [&] {
        Mesh mesh({4, 2}, {"x", "y"}, devices);
        auto per_device = [](const std::vector<Array>& args) {
          auto looped = while_loop([](const std::vector<Array>& v) { return std::vector<Array>{less(v[0], 3)}; },
                                   [](const std::vector<Array>& v) {
                                     return std::vector<Array>{v[0] + 1, v[1] + psum(v[1], {"x"})};
                                   },
                                   {axis_index({"y"}), args[0]}, Where{});
          Array turned = cond(
              equal(axis_index({"y"}), 0),
              [](const Array& v) {
                return sum(all_gather(v, {"x"}, {.axis = 0, .tiled = true}), 0).reshape({1, 1});
              },
              [](const Array& v) {
                return ppermute(v, {"x"}, {{0, 1}, {1, 2}, {2, 3}});
              },
              args[0]);
          return std::vector<Array>{looped[1], turned};
        };
        auto f = jit([&](const Array& x) {
          ShardMapOptions options{.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y"), P("x", "y")}, .check_vma = false};
          auto results = shard_map(per_device, options, {x}, Where{});
          return concatenate({results[0], results[1]}, 1);
        });
        Array y = f(device_put(arange(8).reshape({4, 2}), NamedSharding(mesh, P("x", "y"))));
        Array whole = device_put(y, NamedSharding(mesh, P()));
        // Column 0 is summed thrice, column 1 twice; column 0's sum, column 1 shifted down.
        EXPECT_EQ(whole.to_vector<std::int32_t>(), (Ints{372, 97, 12, 0, 374, 99, 12, 1, 376, 101, 12, 3, 378, 103, 12, 5}));
      });
}

}  // namespace
}  // namespace shardlab
