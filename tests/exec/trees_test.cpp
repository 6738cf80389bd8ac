// Trees of arrays through loops, branches, per-device code and jit's options, as JAX takes pytrees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "runtime/shardlab/shardlab.h"
#include "tests/support/eight_devices.h"

namespace shardlab {

struct Moments {
  Array mean, square;
  std::int64_t power = 1;
};
SHARDLAB_TREE(Moments, mean, square, power)

struct Block {
  Array a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;
  std::optional<Array> bias = {};
};
SHARDLAB_TREE(Block, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, bias)

namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Layer = std::pair<Array, Array>;

class TreesInBranches : public OnEightDevices {};
class TreesInJit : public OnEightDevices {};
class TreesInLoops : public OnEightDevices {};
class TreesInShardMap : public OnEightDevices {};

Mesh pairs() { return make_mesh({4, 2}, {"a", "b"}); }

TEST_F(TreesInLoops, CarriesAndSlicesOfScan) {
  Array init = zeros({});
  auto step = [](const std::tuple<Array, Moments>& carry, const std::vector<Array>& x) {
    const auto& [sum, moments] = carry;
    Moments next{moments.mean + x[0], moments.square + x[1] * x[1], moments.power};
    return std::pair{std::tuple{sum + x[0] * x[1], next}, std::vector{sum, next.mean}};
  };
  auto [last, ys] = scan(step, std::tuple{init, Moments{init, init}}, std::vector{arange(4.0), arange(4.0) + 1.0});
  EXPECT_EQ(std::get<0>(last).item<float>(), 0 * 1 + 1 * 2 + 2 * 3 + 3 * 4);
  EXPECT_EQ(std::get<1>(last).square.item<float>(), 1 + 4 + 9 + 16);
  ASSERT_EQ(ys.size(), 2u);
  EXPECT_EQ(ys[0].to_vector<float>(), (Floats{0, 0, 2, 8}));
  EXPECT_EQ(ys[1].to_vector<float>(), (Floats{0, 1, 3, 6}));
}

TEST_F(TreesInLoops, ScanOverNothing) {
  auto doubled = [](const Array& x, std::tuple<>) { return std::pair{x * 2.0, std::tuple{}}; };
  auto [last, ys] = scan(doubled, ones({3}), std::tuple<>{}, {.length = 5});
  EXPECT_EQ(last.to_vector<float>(), (Floats{32, 32, 32}));
}

TEST_F(TreesInLoops, GradientsThroughThem) {
  auto loss = [](const std::vector<Layer>& layers, const Array& x) {
    auto through = [&](const Array&, const std::pair<Array, Array>& state) {
      Array h = state.first;
      for (const auto& [w, b] : layers) h = tanh(dot(h, w) + b);
      return std::pair{h, state.second + sum(h)};
    };
    return fori_loop(0, 3, through, std::pair{x, zeros({})}).second;
  };
  auto unrolled = [](const std::vector<Layer>& layers, const Array& x) {
    Array h = x, total = zeros({});
    for (int i = 0; i < 3; ++i) {
      for (const auto& [w, b] : layers) h = tanh(dot(h, w) + b);
      total = total + sum(h);
    }
    return total;
  };
  auto keys = random::split(random::key(3), 3);
  std::vector<Layer> layers{{random::normal(keys[0], {4, 4}), zeros({4})}, {random::normal(keys[1], {4, 4}), ones({4})}};
  Array x = device_put(random::normal(keys[2], {8, 4}), NamedSharding(pairs(), P("a")));
  auto found = jit(grad(loss))(layers, x), wanted = jit(grad(unrolled))(layers, x);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_LT(max(abs(found[i].first - wanted[i].first)).item<float>(), 1e-4);
    EXPECT_LT(max(abs(found[i].second - wanted[i].second)).item<float>(), 1e-4);
  }
}

TEST_F(TreesInLoops, WhileAndMap) {
  auto [i, x] = while_loop([](const std::pair<Array, Array>& s) { return s.second < 100.0; },
                           [](const std::pair<Array, Array>& s) {
                             return std::pair{s.first + 1, s.second * 3.0};
                           },
                           std::pair{zeros({}, DType::kInt32), ones({})});
  EXPECT_EQ(i.item<std::int32_t>(), 5);
  EXPECT_EQ(x.item<float>(), 243);
  auto [sums, rows] = map([](const Layer& each) { return std::pair{sum(each.first), each.second * 2.0}; }, Layer{eye(3), arange(3.0)});
  EXPECT_EQ(sums.to_vector<float>(), (Floats{1, 1, 1}));
  EXPECT_EQ(rows.to_vector<float>(), (Floats{0, 2, 4}));
}

TEST_F(TreesInLoops, WhatABodyChanges) {
  using Lists = std::pair<std::vector<Array>, std::int64_t>;
  auto run = [](auto body) { fori_loop(0, 2, body, Lists{{ones({2})}, 1}); };
  EXPECT_THAT(error_of([&] { run([](const Array&, const Lists& c) {
                               return Lists{{c.first[0], c.first[0]}, 1};
                             }); }),
              HasSubstr("carry input and carry output must have the same pytree structure, but they differ: it takes ([*], 1) and returns "
                        "([*, *], 1)"));
  EXPECT_THAT(error_of([&] { run([](const Array&, const Lists& c) {
                               return Lists{c.first, c.second + 1};
                             }); }),
              HasSubstr("it takes ([*], 1) and returns ([*], 2)"));
}

TEST_F(TreesInBranches, Operands) {
  auto swapped = [](const Layer& l, const Array& x) { return Layer{l.second + x, l.first}; };
  auto same = [](const Layer& l, const Array& x) { return Layer{l.first * x, l.second}; };
  for (bool yes : {true, false}) {
    auto [a, b] = cond(full({}, yes), swapped, same, Layer{ones({2}), arange(2.0)}, full({}, 3.0));
    EXPECT_EQ(a.to_vector<float>(), yes ? (Floats{3, 4}) : (Floats{3, 3}));
    EXPECT_EQ(b.to_vector<float>(), yes ? (Floats{1, 1}) : (Floats{0, 1}));
  }
  Array x = arange(3.0);
  EXPECT_EQ(cond(
                sum(x) > 1.0, [&] { return x * 2.0; }, [&] { return x; })
                .to_vector<float>(),
            (Floats{0, 2, 4}));
  auto lists = [&](std::size_t n) { return [n](const Array& y) { return std::vector<Array>(n, y); }; };
  EXPECT_NE(error_of([&] { cond(sum(x) > 1.0, lists(2), lists(1), x); }), "no error");
}

TEST_F(TreesInShardMap, OneSpecForAllLeavesOfAnArgument) {
  Mesh mesh = pairs();
  std::vector<Layer> params{{ones({4, 4}), zeros({4})}, {eye(4), arange(4.0)}};
  Array batch = arange(32.0).reshape({8, 4});
  auto local = [](const std::vector<Layer>& layers, const Array& x) {
    Array h = x;
    for (const auto& [w, b] : layers) h = dot(h, w) + b;
    return h;
  };
  auto step = [&](const std::vector<Layer>& layers, const Array& x) {
    auto [value, gradients] = value_and_grad([&](const std::vector<Layer>& l) { return sum(square(local(l, x))); })(layers);
    return std::tuple{psum(value, "a"), tree::map([](const Array& g) { return psum(g, AxisNames("a")); }, gradients)};
  };
  auto f = shard_map(step, {.mesh = mesh, .in_specs = {P(), P("a")}, .out_specs = {P(), P()}, .check_vma = false});
  auto whole = value_and_grad([&](const std::vector<Layer>& l) { return sum(square(local(l, batch))); });
  auto [value, gradients] = jit(f)(params, batch);
  auto [wanted, wanted_gradients] = whole(params);
  EXPECT_EQ(value.item<float>(), wanted.item<float>());
  ASSERT_EQ(gradients.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(gradients[i].first.to_vector<float>(), wanted_gradients[i].first.to_vector<float>());
    EXPECT_EQ(gradients[i].second.to_vector<float>(), wanted_gradients[i].second.to_vector<float>());
  }
  // One a leaf; both kinds of counts in the error.
  auto sums = [](const Layer& l) { return psum(sum(l.first), "a") + psum(sum(l.second), "b"); };
  auto g = shard_map(sums, {.mesh = mesh, .in_specs = {P("a"), P("b")}, .out_specs = {P()}});
  EXPECT_EQ(g(Layer{arange(4.0), ones({4})}).item<float>(), 10);
  auto h = shard_map(sums, {.mesh = mesh, .in_specs = {P("a"), P("b"), P()}, .out_specs = {P()}});
  EXPECT_THAT(error_of([&] { h(Layer{ones({4}), ones({4})}); }), HasSubstr("got 3 specs for 1 argument with 2 leaves"));
}

TEST_F(TreesInShardMap, SizesOfAxesAreNumbers) {
  auto around = [](const Array& x) {
    std::vector<std::pair<int, int>> ring;
    for (int i = 0, n = axis_size("a"); i < n; ++i) ring.push_back({i, (i + 1) % n});
    return ppermute(x, "a", ring) * double(axis_size({"a", "b"}));
  };
  auto f = shard_map(around, {.mesh = pairs(), .in_specs = {P("a")}, .out_specs = {P("a")}});
  EXPECT_EQ(f(arange(4.0)).to_vector<float>(), (Floats{24, 0, 8, 16}));
  EXPECT_THAT(error_of([] { axis_size("a"); }), HasSubstr("unbound axis name: a"));
  auto unknown =
      shard_map([](const Array& x) { return pcast(x, "a", "reduced"); }, {.mesh = pairs(), .in_specs = {P()}, .out_specs = {P("a")}});
  EXPECT_THAT(error_of([&] { unknown(ones({4})); }), HasSubstr("unexpected `to` value: got 'reduced'"));
}

TEST_F(TreesInJit, ShardingsAndDonationsOfWholeArguments) {
  Mesh mesh = pairs();
  const Sharding rows = NamedSharding(mesh, P("a")), columns = NamedSharding(mesh, P("b"));
  auto f = [](const Layer& l, const Array& x) { return std::tuple{Layer{l.first + x, l.second * 2.0}, x + 1.0}; };
  auto [layer, y] = jit(f, {.in_shardings = {rows, columns}, .out_shardings = {columns, rows}})(Layer{ones({4}), ones({4})}, ones({4}));
  EXPECT_EQ(layer.first.sharding(), columns);
  EXPECT_EQ(layer.second.sharding(), columns);
  EXPECT_EQ(y.sharding(), rows);
  auto by_leaf = jit(f, {.out_shardings = {rows, columns, rows}})(Layer{ones({4}), ones({4})}, ones({4}));
  EXPECT_EQ(std::get<0>(by_leaf).second.sharding(), columns);
  auto inlined = jit([&](const Layer& l, const Array& x) { return jit(f, {.out_shardings = {columns, rows}})(l, x); });
  EXPECT_EQ(std::get<0>(inlined(Layer{ones({4}), ones({4})}, ones({4}))).second.sharding(), columns);
  EXPECT_THAT(error_of([&] {
                jit(f, {.out_shardings = {rows}})(Layer{ones({4}), ones({4})}, ones({4}));
              }),
              HasSubstr("got 1 out_shardings for 2 results with 3 leaves"));
  EXPECT_THAT(error_of([&] {
                jit(f, {.in_shardings = {rows}})(Layer{ones({4}), ones({4})}, ones({4}));
              }),
              HasSubstr("got 1 in_shardings for 2 arguments with 3 leaves"));
  Layer given{ones({4}), ones({4})};
  Array x = ones({4});
  jit(f, {.donate_argnums = {0}})(given, x);
  EXPECT_THAT(error_of([&] { given.first.to_vector<float>(); }), HasSubstr("Array has been deleted"));
  EXPECT_THAT(error_of([&] { given.second.to_vector<float>(); }), HasSubstr("Array has been deleted"));
  EXPECT_EQ(x.to_vector<float>(), (Floats{1, 1, 1, 1}));
  EXPECT_THAT(error_of([&] { jit(f, {.donate_argnums = {2}})(given, x); }),
              HasSubstr("donate_argnums=(2,), but only accepts 2 positional arguments"));
}

struct Named {
  Array scale;
  Layer layer;
};
SHARDLAB_TREE(Named, scale, layer)

// Where in the tree the leaf is, as JAX's key paths say it.
TEST_F(TreesInJit, SixteenMembersOneOfWhichMayBeMissing) {
  const Array one = ones({2});
  Block block{one, one, one, one, one, one, one, one, one, one, one, one, one, one, one};
  int traced = 0;
  auto total = [&](const Block& x) {
    ++traced;
    return tree::reduce([](const Array& sum, const Array& leaf) { return sum + leaf; }, x, zeros({2}));
  };
  auto f = jit(total);
  EXPECT_EQ(f(block).to_vector<float>(), (Floats{15, 15}));
  block.bias = one * 2.0;
  EXPECT_EQ(f(block).to_vector<float>(), (Floats{17, 17}));
  EXPECT_EQ(traced, 2);  // a structure each
  auto slope = grad([&](const Block& x) { return sum(square(total(x))); })(block);
  EXPECT_EQ(slope.bias->to_vector<float>(), (Floats{34, 34}));
  EXPECT_EQ(tree::key_paths(block).back(), ".bias");
  EXPECT_EQ(tree::structure(std::vector<std::optional<Array>>{one, std::nullopt}), "[*, None]");
}

TEST_F(TreesInJit, EightArguments) {
  auto f = jit([](auto a, auto b, auto c, auto d, auto e, auto m, auto n, auto o) { return a + b + c + d + e + m + n + o; });
  const Array x = ones({2});
  EXPECT_EQ(f(x, x, x, x, x, x, x, x).to_vector<float>(), (Floats{8, 8}));
}

TEST_F(TreesInJit, ErrorsNameTheLeafByItsKeyPath) {
  using Params = std::map<std::string, Array>;
  Mesh mesh = pairs();
  const Sharding rows = NamedSharding(mesh, P("a")), both = NamedSharding(mesh, P("a", "b")), whole = NamedSharding(mesh, P());
  auto f = [](const Params& p, const Layer& l) { return std::tuple{Params{{"y", p.at("w") * 2.0}, {"z", p.at("b")}}, l}; };
  const Params p{{"b", ones({3})}, {"w", ones({4, 4})}};
  const Layer l{ones({4}), ones({3})};
  auto error = [&](std::vector<std::optional<Sharding>> in, std::vector<std::optional<Sharding>> out) {
    return error_of([&] { jit(f, {.name = "f", .in_shardings = std::move(in), .out_shardings = std::move(out)})(p, l); });
  };
  EXPECT_THAT(error({both, whole}, {}),
              HasSubstr("One of pjit arguments with pytree key path args[0]['b'] is incompatible with its sharding"));
  EXPECT_THAT(error({whole, rows}, {}), HasSubstr("pjit arguments with pytree key path args[1][1] of type float32[3]"));
  EXPECT_THAT(error({}, {both, whole}),
              HasSubstr("One of pjit outputs with pytree key path result[0]['z'] is incompatible with its sharding"));
  EXPECT_THAT(error({}, {whole, rows}), HasSubstr("pjit outputs with pytree key path result[1][1] of type float32[3]"));
  EXPECT_THAT(error({rows}, {}), HasSubstr("one for each leaf: args[0]['b'], args[0]['w'], args[1][0], args[1][1]"));
  EXPECT_THAT(error({}, {rows}), HasSubstr("one for each leaf: result[0]['y'], result[0]['z'], result[1][0], result[1][1]"));
  const Params placed{{"b", ones({3})}, {"w", device_put(ones({4, 4}), rows)}};
  EXPECT_THAT(error_of([&] { jit(f, {.in_shardings = {whole, whole}})(placed, l); }), HasSubstr("(args[0]['w'] of "));
  EXPECT_THAT(error_of([&] { jit([&](const Params& q) {
                               return jit(f, {.in_shardings = {both, whole}})(q, l);
                             })(p); }),
              HasSubstr("key path args[0]['b']"));
  const Named named{ones({2}), {ones({2}), ones({2})}};
  EXPECT_EQ(tree::key_paths(std::tuple{p, std::vector<Named>{named}, 3}),
            (std::vector<std::string>{"[0]['b']", "[0]['w']", "[1][0].scale", "[1][0].layer[0]", "[1][0].layer[1]"}));
}

}  // namespace
}  // namespace shardlab
