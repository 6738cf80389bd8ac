// Whole programs through the public API, in one process and in several that are threads with contexts of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "tests/support/error_of.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using testing::on_job;

class Solo : public ::testing::Test {
 protected:
  void SetUp() override { use_devices(8); }
  void TearDown() override { Context::set_current(nullptr); }
  static void use_devices(int count) {
    ContextOptions options;
    options.devices_per_process = {count};
    Context::set_current(std::make_shared<Context>(options));
  }
};

float toy() {
  auto mesh = make_mesh({4, 2}, {"i", "j"});
  auto x = device_put(arange(32).reshape({4, 8}), NamedSharding(mesh, P("i", "j")));
  return sum(sin(x)).item<float>();
}

// The guide prints this value, on one process and on four.
TEST(Toy, SameValueToTheLastBitForEveryLayout) {
  for (const std::vector<int>& layout : std::vector<std::vector<int>>{{8}, {2, 2, 2, 2}, {4, 4}, {1, 7}, {3, 2, 3}}) {
    on_job(layout, [] { EXPECT_EQ(toy(), -0.12398731708526611f); });
  }
}

TEST_F(Solo, ShardsOfTheToyArray) {
  auto mesh = make_mesh({4, 2}, {"i", "j"});
  auto x = device_put(arange(32).reshape({4, 8}), NamedSharding(mesh, P("i", "j")));
  auto shards = x.addressable_shards();
  ASSERT_EQ(shards.size(), 8u);
  EXPECT_EQ(shards[3].text(), "[[12 13 14 15]]");
  EXPECT_EQ(shards[3].device.text(), "CpuDevice(id=3)");
  EXPECT_EQ(shards[3].replica_id, 0);
  EXPECT_TRUE(x.is_fully_addressable());
  EXPECT_FALSE(x.is_fully_replicated());
}

TEST_F(Solo, ReplicasShareMemory) {
  auto mesh = make_mesh({8}, {"a"});
  auto x = device_put(arange(1024), NamedSharding(mesh, P()));
  auto y = sin(x);
  auto shards = y.addressable_shards();
  for (const Shard& shard : shards) EXPECT_EQ(shard.data, shards[0].data);
  EXPECT_EQ(shards[7].replica_id, 7);
}

TEST_F(Solo, ArraysMoveBetweenMeshesDeviceOrdersAndSubsets) {
  auto mesh = make_mesh({4, 2}, {"a", "b"});
  std::vector<Device> reversed = devices();
  std::reverse(reversed.begin(), reversed.end());
  auto backwards = make_mesh({8}, {"x"}, reversed);
  auto half = make_mesh({2, 2}, {"p", "q"}, {devices()[6], devices()[1], devices()[3], devices()[4]});
  auto values = arange(64).reshape({8, 8}).to_vector<int>();
  auto x = device_put(array(values, {8, 8}), NamedSharding(mesh, P("a", "b")));
  for (const Sharding& sharding : {NamedSharding(backwards, P(None, "x")), NamedSharding(half, P("q", "p")),
                                   NamedSharding(mesh, P(None, {"b", "a"})), Sharding::on_device(5)}) {
    auto y = device_put(x, sharding);
    EXPECT_EQ(y.to_vector<int>(), values) << sharding.text();
    EXPECT_TRUE(y.committed());
    EXPECT_EQ(device_put(y, NamedSharding(mesh, P("b", "a"))).to_vector<int>(), values);
  }
}

TEST_F(Solo, OneOrderedSetOfDevices) {
  auto mesh = make_mesh({8}, {"a"});
  std::vector<Device> reversed = devices();
  std::reverse(reversed.begin(), reversed.end());
  auto x = device_put(arange(8), NamedSharding(mesh, P("a")));
  auto y = device_put(arange(8), NamedSharding(make_mesh({8}, {"a"}, reversed), P("a")));
  auto text = error_of([&] { x + y; });
  EXPECT_THAT(text,
              ::testing::HasSubstr("Received incompatible devices for jitted computation. Got argument 0 of add with shape int32[8] and "
                                   "with device ids [0, 1, 2, 3, 4, 5, 6, 7] on platform CPU"));
  EXPECT_THAT(text, ::testing::HasSubstr("the same devices in another order"));
  EXPECT_THAT(text, ::testing::HasSubstr("program_test.cpp:"));
}

// As JAX: the first mesh is the computation's.
TEST_F(Solo, MeshesOfOneDeviceOrderInOneComputation) {
  auto ab = make_mesh({4, 2}, {"a", "b"}), x = make_mesh({8}, {"x"});
  auto values = arange(128).reshape({16, 8}).to_vector<int>();
  auto by_a = device_put(array(values, {16, 8}), NamedSharding(ab, P("a", None)));
  auto by_x = device_put(array(values, {16, 8}), NamedSharding(x, P("x", None)));
  auto across = device_put(array(values, {16, 8}), NamedSharding(x, P(None, "x")));
  EXPECT_EQ((by_a + by_x).sharding().spec_text(), "P(('a', 'b'), None)");
  EXPECT_EQ((by_x + by_a).sharding().spec_text(), "P('x', None)");
  EXPECT_EQ((by_a + across).sharding().spec_text(), "P(None, ('a', 'b'))");
  EXPECT_EQ((by_a + across).to_vector<int>()[5], 10);
}

// 2 x 3 beside 3 x 2: what lies on the mesh that the computation is not on is exchanged box by box, never gathered.
TEST_F(Solo, MeshesWhoseAxesDoNotNest) {
  std::vector<Device> six = devices();
  six.resize(6);
  auto ab = make_mesh({2, 3}, {"a", "b"}, six), cd = make_mesh({3, 2}, {"c", "d"}, six);
  auto numbers = arange(144).reshape({12, 12});
  auto x = device_put(numbers, NamedSharding(ab, P("a", "b"))), y = device_put(numbers, NamedSharding(cd, P("c", "d")));
  auto is_exchange = [](const std::string& program) {
    return program.find("collective-permute") != std::string::npos && program.find("all-gather") == std::string::npos;
  };
  auto twice = (numbers * 2).to_vector<int>();
  auto add = jit([](const Array& a, const Array& b) { return a + b; });
  EXPECT_EQ(add(x, y).to_vector<int>(), twice);
  EXPECT_EQ(add(x, y).sharding().text(), NamedSharding(ab, P(None, None)).text());  // what lies on two meshes is whole, as in JAX
  EXPECT_EQ(add(y, x).to_vector<int>(), twice);
  EXPECT_EQ(add(y, x).sharding().text(), NamedSharding(cd, P(None, None)).text());

  auto moved = jit([](const Array& a) { return a * 2; }, {.out_shardings = {y.sharding()}});
  EXPECT_EQ(moved(x).to_vector<int>(), twice);
  EXPECT_EQ(moved(x).sharding().text(), y.sharding().text());
  EXPECT_TRUE(is_exchange(moved.lower(x).compile().as_text()));
  // Straight from where the value lies, not by way of as many parts of the computation's mesh.
  auto columns = jit([](const Array& a) { return a * 2; }, {.out_shardings = {NamedSharding(cd, P(None, "d"))}});
  auto turned = device_put(numbers, NamedSharding(ab, P("b", "a")));
  EXPECT_EQ(columns(turned).to_vector<int>(), twice);
  EXPECT_TRUE(is_exchange(columns.lower(turned).compile().as_text()));
  auto held = jit([&](const Array& a) { return with_sharding_constraint(a * 2, y.sharding()); });
  EXPECT_EQ(held(x).to_vector<int>(), twice);
  EXPECT_EQ(held(x).sharding().text(), y.sharding().text());
  auto inside = jit([&](const Array& a) { return sum(with_sharding_constraint(a, y.sharding()) * 2, 0); });
  EXPECT_EQ(inside(x).to_vector<int>(), sum(numbers * 2, 0).to_vector<int>());

  auto alone = jit([](const Array& a, const Array& b) { return std::tuple(sum(a, 0), sin(b)); });  // nothing says how the second lies
  auto [first, second] = alone(x, y);
  EXPECT_EQ(first.to_vector<int>(), sum(numbers, 0).to_vector<int>());
  EXPECT_EQ(second.to_vector<float>(), sin(numbers).to_vector<float>());
  EXPECT_EQ(add(x, device_put(numbers, NamedSharding(cd, P()))).to_vector<int>(), twice);
}

// Per-device code has the axes of its own mesh, whatever the program's are called.
TEST_F(Solo, PerDeviceCodeOnAnotherMeshOfTheSameDevices) {
  auto ab = make_mesh({4, 2}, {"a", "b"}), x = make_mesh({8}, {"x"}), pq = make_mesh({2, 4}, {"p", "q"});
  auto values = device_put(arange(128).reshape({16, 8}), NamedSharding(ab, P("a", "b")));
  auto rotate = shard_map(
      [](const Array& tile) {
        return ppermute(tile, {"x"}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}});
      },
      {.mesh = x, .in_specs = {P("x")}, .out_specs = {P("x")}});
  auto totals = shard_map(
      [](const Array& tile) {
        return psum(sum(tile, 0).reshape({1, 8}), {"p"}) + axis_index({"q"});
      },
      {.mesh = pq, .in_specs = {P({"p", "q"}, None)}, .out_specs = {P("q")}});
  auto f = jit([&](const Array& v) { return std::tuple(rotate(v * 1), totals(v * 1)); });
  auto [rotated, total] = f(values);
  EXPECT_EQ(rotated.to_vector<int>(), roll(arange(128).reshape({16, 8}), 2, 0).to_vector<int>());
  auto tiles = arange(128).reshape({2, 4, 2, 8});
  auto wanted = sum(tiles, {0, 2}) + arange(4).reshape({4, 1});
  EXPECT_EQ(total.to_vector<int>(), wanted.to_vector<int>());
}

// Where its axes do not nest with the arguments', the computation is on the code's mesh, and the arguments are exchanged.
TEST_F(Solo, PerDeviceCodeOnAMeshWhoseAxesDoNotNest) {
  std::vector<Device> six = devices();
  six.resize(6);
  auto ab = make_mesh({2, 3}, {"a", "b"}, six), cd = make_mesh({3, 2}, {"c", "d"}, six);
  auto numbers = arange(144).reshape({12, 12});
  auto x = device_put(numbers, NamedSharding(ab, P("a", "b")));
  auto totals = shard_map([](const Array& tile) { return psum(tile, {"c"}) + axis_index({"d"}); },
                          {.mesh = cd, .in_specs = {P("c", "d")}, .out_specs = {P(None, "d")}});
  auto tiles = numbers.reshape({3, 4, 12});
  auto wanted = (sum(tiles, 0) + repeat(arange(2), 6)).to_vector<int>();
  EXPECT_EQ(totals(x).to_vector<int>(), wanted);
  EXPECT_EQ(totals(x).sharding().text(), NamedSharding(cd, P(None, "d")).text());

  auto around = jit([&](const Array& v) { return std::tuple(totals(v * 2) - 1, v + 1); },
                    {.out_shardings = {NamedSharding(ab, P(None, "b")), x.sharding()}});
  auto [after, beside] = around(x);
  EXPECT_EQ(after.to_vector<int>(), (sum(tiles * 2, 0) + repeat(arange(2), 6) - 1).to_vector<int>());
  EXPECT_EQ(after.sharding().text(), NamedSharding(ab, P(None, "b")).text());
  EXPECT_EQ(beside.to_vector<int>(), (numbers + 1).to_vector<int>());
  EXPECT_EQ(beside.sharding().text(), x.sharding().text());

  // Code on both meshes: what one gives is exchanged for the other, and lies where that has it.
  auto other =
      shard_map([](const Array& tile) { return psum(tile, {"a"}); }, {.mesh = ab, .in_specs = {P("a", "b")}, .out_specs = {P(None, "b")}});
  auto twice = shard_map([](const Array& tile) { return tile * 2; }, {.mesh = cd, .in_specs = {P("c", "d")}, .out_specs = {P("c", "d")}});
  auto halves = sum(numbers.reshape({2, 6, 12}), 0);
  auto both = jit([&](const Array& v) { return std::tuple(totals(v), other(v), other(twice(v)), totals(twice(v))); });
  auto [on_cd, on_ab, there, stays] = both(x);
  EXPECT_EQ(on_cd.to_vector<int>(), wanted);
  EXPECT_EQ(on_cd.sharding().text(), NamedSharding(cd, P(None, "d")).text());
  EXPECT_EQ(on_ab.to_vector<int>(), halves.to_vector<int>());
  EXPECT_EQ(on_ab.sharding().text(), NamedSharding(ab, P(None, "b")).text());
  EXPECT_EQ(there.to_vector<int>(), (halves * 2).to_vector<int>());
  EXPECT_EQ(stays.to_vector<int>(), (sum(tiles * 2, 0) + repeat(arange(2), 6)).to_vector<int>());
  EXPECT_EQ(stays.sharding().text(), NamedSharding(cd, P(None, "d")).text());
}

TEST_F(Solo, ALoweredProgramAndItsExplanation) {
  auto mesh = make_mesh({8}, {"a"});
  auto x = device_put(ones({16, 8}), NamedSharding(mesh, P("a")));
  auto f = jit([](const Array& v) { return sum(sin(v)); });
  EXPECT_THAT(f.lower(x).as_text(), ::testing::HasSubstr("= sin(%0)"));
  EXPECT_THAT(f.lower(x).compile().as_text(), ::testing::HasSubstr("all-reduce sum"));
  std::string why = f.explain(x);
  EXPECT_THAT(why, ::testing::HasSubstr("dimension 0 is cut by 'a': from %0 through sin"));
  EXPECT_THAT(why, ::testing::HasSubstr("avoided by"));
  EXPECT_FLOAT_EQ(float(f(x).item<float>()), 128 * std::sin(1.0f));
}

TEST_F(Solo, AnExplanationListsWhatPerDeviceCodeAsksFor) {
  auto mesh = make_mesh({8}, {"a"});
  auto x = device_put(ones({16, 8}), NamedSharding(mesh, P("a")));
  const int line = __LINE__ + 1;
  auto f = jit(shard_map([](const Array& v) { return psum(v, "a"); }, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P()}}));
  const std::string here = fmt::format("program_test.cpp:{}", line), why = f.explain(x);
  EXPECT_THAT(why,
              ::testing::HasSubstr(fmt::format("all-reduce over a, for psum at {}: 64 bytes a device, 896 on the wire\n896 bytes", here)));
  EXPECT_THAT(why, ::testing::HasSubstr("shard_map at " + here));
  EXPECT_THAT(f.lower(x).as_text(), ::testing::HasSubstr("shard_map at " + here));
}

TEST_F(Solo, UncommittedArraysJoinPlacedOnes) {
  auto mesh = make_mesh({8}, {"a"});
  auto x = device_put(arange(16), NamedSharding(mesh, P("a")));
  auto y = x + arange(16);
  EXPECT_EQ(y.sharding().spec_text(), "P('a',)");
  EXPECT_EQ(y.to_vector<int>()[5], 10);
  EXPECT_FALSE(arange(3).committed());
  EXPECT_FALSE((arange(3) + 1).committed());
}

TEST_F(Solo, JitPropagatesAndHonoursOutShardings) {
  auto mesh = make_mesh({4, 2}, {"a", "b"});
  auto x = device_put(arange(64, float32).reshape({8, 8}), NamedSharding(mesh, P("a", "b")));
  auto y = device_put(arange(64, float32).reshape({8, 8}), NamedSharding(mesh, P("b", None)));
  auto f = jit([](const Array& a, const Array& b) { return relu(matmul(a, b) - 100); });
  auto z = f(x, y);
  EXPECT_EQ(z.sharding().spec_text(), "P('a', None)");
  auto g =
      jit([](const Array& a, const Array& b) { return relu(matmul(a, b) - 100); }, {.out_shardings = {NamedSharding(mesh, P("a", "b"))}});
  auto w = g(x, y);
  EXPECT_EQ(w.sharding().spec_text(), "P('a', 'b')");
  EXPECT_EQ(w.to_vector<float>(), z.to_vector<float>());
  float first = 0;
  for (int k = 0; k < 8; ++k) first += float(k * k * 8);
  EXPECT_EQ(z.to_vector<float>()[0], first - 100);
}

TEST_F(Solo, TracersHaveTypesButNoData) {
  auto text = error_of([] { jit([](const Array& x) { return x + x.item<int>(); })(arange(1)); });
  EXPECT_THAT(text, ::testing::HasSubstr("is traced by jit, it has a type but no data yet"));
  Array leaked;
  jit([&](const Array& x) {
    leaked = x;
    return x;
  })(arange(4));
  EXPECT_THAT(error_of([&] { leaked + 1; }), ::testing::HasSubstr("used after its function has returned"));
}

TEST_F(Solo, CapturedArraysAreConstants) {
  auto mesh = make_mesh({8}, {"a"});
  auto weights = arange(16, float32);
  auto x = device_put(ones({16}), NamedSharding(mesh, P("a")));
  auto f = jit([&](const Array& v) { return v * weights; });
  EXPECT_EQ(f(x).to_vector<float>()[9], 9.0f);
  EXPECT_EQ(f(x).sharding().spec_text(), "P('a',)");
}

TEST_F(Solo, DimensionsThatDoNotDivide) {
  auto mesh = make_mesh({8}, {"a"});
  EXPECT_THAT(error_of([&] { device_put(arange(12), NamedSharding(mesh, P("a"))); }),
              ::testing::HasSubstr("should be divisible by 8, but it is equal to 12 (full shape: (12,))"));
}

TEST_F(Solo, FiveHundredTwelveDevices) {
  use_devices(512);
  auto mesh = make_mesh({512}, {"a"});
  auto x = device_put(arange(512 * 64, float32).reshape({512, 64}), NamedSharding(mesh, P("a", None)));
  auto y = sum(sin(x), 0);
  EXPECT_TRUE(y.is_fully_replicated());
  double wanted = 0;
  for (int i = 0; i < 512; ++i) wanted += std::sin(double(i * 64 + 3));
  EXPECT_NEAR(y.to_vector<float>()[3], wanted, 1e-3);
}

// Two launches that share no devices, a process without any device of the mesh, and data that crosses processes.
TEST(Job, SubsetMeshesOverProcesses) {
  on_job({2, 2, 2, 2}, [] {
    auto upper = make_mesh({4}, {"a"}, {devices()[4], devices()[5], devices()[6], devices()[7]});
    auto x = device_put(arange(64).reshape({8, 8}), NamedSharding(upper, P("a")));
    auto result = sum(sin(x));
    if (process_index() >= 2) {
      EXPECT_NEAR(result.item<float>(), 0.0965857, 1e-5);
    } else {
      EXPECT_EQ(result.text(), "Array(shape=(), dtype=float32)");
    }
    EXPECT_EQ(x.addressable_shards().size(), process_index() >= 2 ? 2u : 0u);
    auto lower = make_mesh({4}, {"a"}, {devices()[0], devices()[1], devices()[2], devices()[3]});
    auto moved = device_put(x, NamedSharding(lower, P(None, "a")));
    auto whole = device_put(moved, NamedSharding(lower, P()));
    if (process_index() < 2) { EXPECT_EQ(whole.to_vector<int>()[63], 63); }
  });
}

TEST(Job, FetchOfWhatLiesElsewhereIsTheDocumentedError) {
  on_job({2, 2}, [] {
    auto mesh = make_mesh({4}, {"a"});
    auto x = device_put(arange(8), NamedSharding(mesh, P("a")));
    try {
      x.to_vector<int>();
      ADD_FAILURE() << "fetched";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("spans non-addressable (non process local) devices is not possible"));
    }
    EXPECT_EQ(x.text(), "Array(shape=(8,), dtype=int32)");
  });
}

}  // namespace
}  // namespace shardlab
