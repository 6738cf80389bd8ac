// jax.random in C++: the documents' numbers, in both layouts of counters, and made in place where the result is cut.
#include <gtest/gtest.h>

#include "runtime/exec/config.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/random.h"

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
