// Shardings of values traced by jit: callbacks and pictures when the program is compiled, as JAX 0.10.2 gives them, and the program
// unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_partitioning.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/positional_sharding.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Inspect : public OnEightDevices {
 protected:
  // Notes how the value lies.
  void look(const Array& value) {
    debug::inspect_array_sharding(value, [this](const Sharding& sharding) { seen.push_back(sharding.spec_text()); });
  }
  Array values(const Shape& shape, const PartitionSpec& spec) const { return device_put(ones(shape), NamedSharding(mesh, spec)); }

  Mesh mesh = Mesh({4, 2}, {"a", "b"}, {3, 1, 2, 0, 7, 5, 6, 4});
  std::vector<std::string> seen;
};

TEST_F(Inspect, ValuesInsideJitAreSeenOnceWhenItIsCompiled) {
  auto f = jit([&](const Array& x) {
    Array y = x + 1;
    look(y);
    look(sum(y, 0));
    look(sin(x));
    y = with_sharding_constraint(y, NamedSharding(mesh, P("b", "a")));
    look(y);
    return matmul(y, transpose(y));
  });
  Array x = values({8, 8}, P("a", "b"));
  f(x);
  EXPECT_THAT(seen, ElementsAre("P('b', 'a')", "P('a',)", "P('a', 'b')", "P('b', 'a')"));  // y takes what it is constrained to
  f(x);
  EXPECT_EQ(seen.size(), 4U);
  f(values({8, 8}, P(None, "b")));  // another program
  EXPECT_EQ(seen.size(), 8U);
}

TEST_F(Inspect, TheProgramIsTheSameAsWithoutLooking) {
  auto body = [&](bool looks) {
    return [this, looks](const Array& x, const Array& w) {
      Array product = matmul(x, w);  // a sum over 'b' to be combined; all-reduced or scattered as the planner likes
      if (looks) look(product);
      Array half = sin(product) * 2;
      if (looks) debug::visualize_array_sharding(half);
      return with_sharding_constraint(half, NamedSharding(mesh, P("a", "b")));
    };
  };
  Array x = values({16, 8}, P("a", "b")), w = values({8, 16}, P("b", None));
  testing::internal::CaptureStdout();
  std::string looking = jit(body(true)).lower(x, w).compile().as_text();
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("CPU"));
  EXPECT_EQ(looking, jit(body(false)).lower(x, w).compile().as_text());
  EXPECT_EQ(jit(body(true)).lower(x, w).as_text().find("inspect_sharding"), std::string::npos);
}

TEST_F(Inspect, WhatNobodyUsesIsSeenToo) {
  Array x = values({8, 8}, P("a", "b"));
  auto f = jit([&](const Array& a) {
    look(slice(sin(a), {0, 0}, {8, 3}));
    return a;
  });
  f(x);
  EXPECT_THAT(seen, ElementsAre("P('a', 'b')"));  // an uneven one, as propagation has it
}

TEST_F(Inspect, TheDocumentsPicturesInsideAFunction) {
  auto sharding = PositionalSharding(Context::current().devices()).reshape(4, 2);
  Array x = device_put(ones({64, 64}), sharding);
  auto picture_of = [&](const PositionalSharding& each) { return array_sharding_text(device_put(x, each)) + '\n'; };
  for (const PositionalSharding& wanted : {sharding.reshape(2, 4), sharding.replicate()}) {
    auto f = jit([&](Array a) {
      debug::visualize_array_sharding(a);
      a = a + 1;
      Array y = with_sharding_constraint(a, wanted);
      debug::visualize_array_sharding(y);
      return y;
    });
    testing::internal::CaptureStdout();
    f(x).block_until_ready();
    f(x).block_until_ready();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), picture_of(sharding) + picture_of(wanted));
  }
}

TEST_F(Inspect, InBodiesOfLoopsAndBranches) {
  Array x = values({8, 8}, P("a", "b"));
  auto looking = [&](const Array& v) {
    look(v);
    return v * 2;
  };
  jit([&](const Array& a) {
    return std::get<0>(scan([&](const Array& v, const Array& t) { return std::tuple(looking(v), t); }, a, arange(3)));
  })(x);
  EXPECT_THAT(seen, ElementsAre("P('a', 'b')"));
  seen.clear();
  jit([&](const Array& a) { return while_loop([](const Array& v) { return sum(v) < 1000; }, looking, a); })(x);
  EXPECT_THAT(seen, ElementsAre("P('a', 'b')"));
  seen.clear();
  jit([&](const Array& a) {
    return switch_branches(sum(a) > 0,
                           {[&](const std::vector<Array>& v) { return std::vector<Array>{looking(v[0])}; },
                            [&](const std::vector<Array>& v) { return std::vector<Array>{looking(sin(v[0]))}; }},
                           {a}, {});
  })(x);
  EXPECT_THAT(seen, ElementsAre("P('a', 'b')", "P('a', 'b')"));
}

TEST_F(Inspect, UnderDerivativesAndBatches) {
  Array x = values({8, 8}, P("a", "b"));
  auto f = [&](const Array& v) {
    look(v);
    return sum(v * v);
  };
  auto gradient = jit(grad(f))(x);
  EXPECT_EQ(gradient.to_vector<float>(), std::vector<float>(64, 2.0F));
  EXPECT_THAT(seen, ElementsAre("P('a', 'b')"));
  seen.clear();
  jit(vmap(f))(x);
  EXPECT_THAT(seen, ElementsAre("P('a', 'b')"));  // the whole batch
  seen.clear();
  auto looped = [&](const Array& v) {
    return sum(std::get<0>(scan(
        [&](const Array& carry, const Array& t) {
          look(carry);
          return std::tuple(sin(carry), t);
        },
        v, arange(3))));
  };
  jit(grad(looped))(x);
  EXPECT_THAT(seen, testing::Each("P('a', 'b')"));
  EXPECT_FALSE(seen.empty());
}

TEST_F(Inspect, InPerDeviceCodeEachDeviceHasItsOwn) {
  Array x = values({8, 8}, P("a", "b"));
  auto body = [&](const std::vector<Array>& tiles) {
    look(tiles[0]);
    return std::vector<Array>{tiles[0] * 2};
  };
  ShardMapOptions options{.mesh = mesh, .in_specs = {P("a", "b")}, .out_specs = {P("a", "b")}};
  jit([&](const Array& a) { return shard_map(body, options, {a}, {}).at(0); })(x);
  EXPECT_THAT(seen, ElementsAre("P()"));
  shard_map(body, options, {x}, {});
  EXPECT_EQ(seen.size(), 2U);
  seen.clear();
  auto partition = [&](const Mesh&, const std::vector<ShardedType>& args, const std::vector<ShardedType>&) {
    return PartitionedFunction{body, {args[0].sharding}, {args[0].sharding}};
  };
  auto custom = custom_partitioning([](const Array& a) { return a * 2; }, {.sharding_rule = "i j -> i j", .partition = partition});
  jit([&](const Array& a) { return custom(a); })(x);
  EXPECT_THAT(seen, ElementsAre("P()"));
}

TEST_F(Inspect, ArraysAtOnceAndNumbersNot) {
  look(values({8, 8}, P(None, {"a", "b"})));
  EXPECT_THAT(seen, ElementsAre("P(None, ('a', 'b'))"));
  try {
    jit([](const Array& x) {
      debug::visualize_array_sharding(sum(x));
      return x;
    })(values({8, 8}, P("a")));
    FAIL();
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("1 and more dimensions")); }
}

TEST_F(Inspect, OnExplicitAxes) {
  Mesh typed({4, 2}, {"a", "b"}, {0, 1, 2, 3, 4, 5, 6, 7}, {AxisType::kExplicit, AxisType::kExplicit});
  Array x = device_put(ones({8, 8}), NamedSharding(typed, P("a", "b")));
  jit([&](const Array& a) {
    look(sum(sin(a), 1));
    return a;
  })(x);
  EXPECT_THAT(seen, ElementsAre("P('a',)"));
}

}  // namespace
}  // namespace shardlab
