// jax.random in C++: the documents' numbers, in both layouts of counters, and made in place where the result is cut.
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/config.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"
#include "runtime/exec/statistics.h"
#include "runtime/exec/vmap.h"

namespace shardlab {
namespace {

TEST(Random, DocumentsNumbersInBothLayouts) {
  Array key = random::key(42);
  EXPECT_EQ(random::uniform(key, {24}).to_vector<float>()[0], 0.48870957F);
  EXPECT_EQ(random::normal(key, {4}).to_vector<float>(),
            (std::vector<float>{-0.02830461598932743F, 0.4671318531036377F, 0.2957029640674591F, 0.15354591608047485F}));
  EXPECT_EQ(random::permutation(key, 7).to_vector<std::int32_t>(), (std::vector<std::int32_t>{4, 2, 5, 3, 6, 0, 1}));
  EXPECT_EQ(random::split(key)[1].to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{64467757, 2916123636}));
  config::update("jax_threefry_partitionable", false);
  EXPECT_EQ(random::uniform(key, {24}).to_vector<float>()[0], 0.72503686F);
  EXPECT_EQ(random::normal(key, {4}).to_vector<float>()[1], 1.0653334856033325F);
  EXPECT_EQ(random::permutation(key, 7).to_vector<std::int32_t>(), (std::vector<std::int32_t>{6, 0, 2, 5, 4, 3, 1}));
  EXPECT_EQ(random::split(key)[1].to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{255383827, 267815257}));
  config::update("jax_threefry_partitionable", true);
}

// Document 002: numbers added to a sharded array take its sharding, and nothing is exchanged.
TEST(Random, KeysAsOneArray) {
  const Array key = random::key(42), keys = random::split(key, Shape{2, 3});
  EXPECT_EQ(keys.shape(), (Shape{2, 3, 2}));
  const Array last = keys[{1, 2}];
  EXPECT_EQ(last.to_vector<std::uint32_t>(), random::split(key, 6)[5].to_vector<std::uint32_t>());
}

TEST(Random, NumbersTakeTheShardingOfWhatTheyAreAddedTo) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  Array x = device_put(zeros({8, 6}), NamedSharding(mesh, P("a", "b")));
  JitFunction f([](const std::vector<Array>& args) { return std::vector<Array>{args[1] + random::uniform(args[0], {8, 6})}; }, {"f"});
  Array key = random::key(7);
  Array y = f.call({key, x}, {})[0];
  EXPECT_EQ(y.sharding().text(), x.sharding().text());
  EXPECT_EQ(y.to_vector<float>(), random::uniform(key, {8, 6}).to_vector<float>());
  EXPECT_EQ(f.lowered({key, x}, true).find("all-"), std::string::npos);
}

// The older layout hashes counters in two halves, which move to where the result is cut; the numbers are the same as on one device.
TEST(Random, TheOlderLayoutMovesTheHalves) {
  config::update("jax_threefry_partitionable", false);
  Array key = random::key(42), x = device_put(arange(64), NamedSharding(make_mesh({8}, {"x"}), P("x")));
  JitFunction f([](const std::vector<Array>& args) { return std::vector<Array>{args[1] + random::uniform(args[0], {64})}; }, {"f"});
  Array y = f.call({key, x}, {})[0];
  EXPECT_EQ(y.sharding().text(), x.sharding().text());
  EXPECT_EQ(y.to_vector<float>(), (arange(64) + random::uniform(key, {64})).to_vector<float>());
  EXPECT_NE(f.lowered({key, x}, true).find("permute"), std::string::npos);
  EXPECT_EQ(random::choice(key, 10, {2, 3}).to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 3, 9, 9, 4, 6}));
  EXPECT_EQ(random::permutation(key, arange(12).reshape({4, 3}), {.independent = true}).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{0, 10, 11, 3, 4, 2, 6, 7, 8, 9, 1, 5}));
  config::update("jax_threefry_partitionable", true);
}

TEST(Random, ChoicesOfCutArrays) {
  Array key = random::key(42), x = arange(12, float32).reshape({4, 3});
  Array cut = device_put(x, NamedSharding(make_mesh({4}, {"x"}), P("x")));
  EXPECT_EQ(random::permutation(key, cut).to_vector<float>(), (std::vector<float>{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(random::choice(key, cut, {2}, {.axis = 1}).to_vector<float>(), (std::vector<float>{0, 0, 3, 3, 6, 6, 9, 9}));
  Array p = array<float>({0.1F, 0.2F, 0.3F, 0.4F});
  EXPECT_EQ(random::choice(key, cut, {3}, {.p = p}).to_vector<float>(), (std::vector<float>{6, 7, 8, 6, 7, 8, 6, 7, 8}));
  EXPECT_EQ(random::choice(key, 4, {3}, {.replace = false, .p = p}).to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 2, 1}));
  Array logits = log(array<float>({0.1F, 0.2F, 0.7F, 0.5F, 0.3F, 0.2F}, {2, 3}));
  EXPECT_EQ(random::categorical(key, logits, {.shape = Shape{4, 2}}).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{2, 0, 2, 0, 1, 0, 1, 2}));
}

// A batch of keys draws what its keys draw one by one, also where it is cut over devices, and moves nothing.
TEST(RandomBatches, AreThoseOfTheirKeys) {
  Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  Array keys = stack(random::split(random::key(7), 8));
  auto draw = [](const Array& key) {
    Array parts = stack(random::split(key, 2));
    Array first = random::fold_in(key, 3);
    return std::tuple(random::normal(key, {6}), random::bits(first, {2, 3}), parts, random::permutation(key, 5));
  };
  auto [normals, bits, children, orders] = vmap(draw)(keys);
  for (int i = 0; i < 8; ++i) {
    Array key = dynamic_index_in_dim(keys, i, 0, false);
    auto [n, b, c, o] = draw(key);
    auto row = [&](const Array& all) { return dynamic_index_in_dim(all, i, 0, false); };
    EXPECT_EQ(row(normals).to_vector<float>(), n.to_vector<float>());
    EXPECT_EQ(row(bits).to_vector<std::uint32_t>(), b.to_vector<std::uint32_t>());
    EXPECT_EQ(row(children).to_vector<std::uint32_t>(), c.to_vector<std::uint32_t>());
    EXPECT_EQ(row(orders).to_vector<std::int32_t>(), o.to_vector<std::int32_t>());
  }
  Array cut = device_put(keys, NamedSharding(mesh, P("x")));
  auto normal = vmap([](const Array& key) { return random::normal(key, {6}); });
  Array got = jit(normal)(cut);
  EXPECT_EQ(got.to_vector<float>(), normals.to_vector<float>());
  EXPECT_EQ(got.sharding().spec_text(), "P('x', None)");
  EXPECT_EQ(jit(normal).lower(cut).compile().as_text().find("all-"), std::string::npos);
  EXPECT_THROW(random::normal(keys, {6}), UserError);
}

TEST(Statistics, OfCutArrays) {
  Array x = device_put(arange(24, float32).reshape({8, 3}), NamedSharding(make_mesh({4, 2}, {"x", "y"}), P("x")));
  EXPECT_EQ(median(x).item<float>(), 11.5F);
  EXPECT_EQ(quantile(x, 0.5, {.axis = 0}).to_vector<float>(), (std::vector<float>{10.5F, 11.5F, 12.5F}));
  EXPECT_EQ(average(x, array<float>({1, 0, 1}), {.axis = 1}).to_vector<float>()[7], 22);
  EXPECT_EQ(searchsorted(arange(8), array<std::int32_t>({3, 9})).to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 8}));
  EXPECT_EQ(bincount(array<std::int32_t>({1, 1, 2}), 3).to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2, 1}));
  EXPECT_TRUE(allclose(x, x + 1e-5, {.atol = 1e-4}).item<bool>());
  EXPECT_FALSE(allclose(x, x + 1e-5).item<bool>());
  EXPECT_TRUE(array_equal(x, copy(x)).item<bool>());
  EXPECT_TRUE(copy(x).sharding().is_equivalent_to(x.sharding(), x.shape()));
  EXPECT_EQ(logspace(0, 3, {.num = 4, .base = 2}).to_vector<float>(), (std::vector<float>{1, 2, 4, 8}));
}

// Over all axes of a cut array: there and back, by all-to-alls and without gathering.
TEST(Fourier, CutArraysAreNotGathered) {
  Mesh mesh = make_mesh({8}, {"x"});
  Array x = device_put(random::normal(random::key(1), {8, 16, 4}), NamedSharding(mesh, P("x")));
  JitFunction f([](const std::vector<Array>& args) { return std::vector<Array>{real(fft::ifftn(fft::fftn(args[0])))}; }, {"f"});
  Array y = f.call({x}, {})[0];
  std::vector<float> before = x.to_vector<float>(), after = y.to_vector<float>();
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-5);
  std::string program = f.lowered({x}, true);
  EXPECT_EQ(program.find("all-gather"), std::string::npos) << program;
  EXPECT_NE(program.find("all-to-all"), std::string::npos) << program;
}

}  // namespace
}  // namespace shardlab
