// Random graphs on random meshes from random specs: partitioned they compute what they compute whole.
//
// The test's number is the seed: --gtest_filter=Seeds/RandomPrograms.ComputeWhatTheyComputeWhole/17 replays one.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/spmd/candidates.h"
#include "runtime/spmd/explain.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/work.h"
#include "runtime/transform/lighten.h"
#include "tests/spmd/random_program.h"
#include "tests/spmd/simulator.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;

// A value as propagation leaves it, cut evenly.
Spec even_form(const PartitionedProgram& program, ValueId id) {
  std::vector<DimSharding> dims;
  for (const Axes& axes : program.propagated[std::size_t(id)]) dims.push_back({axes});
  return normalised(even_prefix(ValueSharding(std::move(dims)), program.graph.type(id).shape));
}

// Of one device where every op is computed as propagation leaves its tensors: cut as its results are, or as its operands agree;
// of a reduction where its operand lies, of a product as its result is left, of an elementwise op as its result or its operands.
std::int64_t propagated_work_of(const PartitionedProgram& program) {
  std::int64_t work = 0;
  std::vector<bool> is_empty;
  for (ValueId id : program.graph.params) is_empty.push_back(program.graph.type(id).elements() == 0);
  const std::vector<bool> known = known_values(program.graph, is_empty);  // these are computed in whatever form is asked for
  for (const Node& node : program.graph.nodes) {
    if (only_moves_data(program.graph, node)) continue;
    FactorRule rule = rule_of(program.graph, node);
    if (!rule.present) {
      work += program.graph.type(node.results[0]).elements();
      continue;
    }
    std::vector<Spec> forms;
    for (const auto* ids : {&node.operands, &node.results})
      for (ValueId id : *ids) forms.push_back(even_form(program, id));
    std::int64_t own = propagated_work({rule, cuttable_factors(*node.op, rule)}, forms);
    if (node.op->elementwise) {
      // As several operands lie that lie alike, as XLA has it, and as its results lie, where its operands are whole for others.
      const std::size_t operands = rule.operands.size();
      if (operands > 1 &&
          std::all_of(forms.begin(), forms.begin() + std::ptrdiff_t(operands), [&](const Spec& f) { return f == forms[0]; })) {
        std::vector<Spec> alike = forms;
        for (std::size_t i = operands; i < forms.size(); ++i) alike[i].assign(alike[i].size(), {});
        own = std::max(own, propagated_work({rule, cuttable_factors(*node.op, rule)}, alike));
      }
      for (std::size_t i = 0; i < rule.operands.size(); ++i) forms[i].assign(forms[i].size(), {});
      own = std::max(own, propagated_work({rule, cuttable_factors(*node.op, rule)}, forms));
    } else if (node.op->reduction && node.operands.size() == 1) {
      forms.back().assign(forms.back().size(), {});
      own = std::max(own, propagated_work({rule, cuttable_factors(*node.op, rule)}, forms));
    } else if (node.op->reduction) {
      for (std::size_t i = 0; i < rule.operands.size(); ++i)
        for (std::size_t d = 0; d < forms[i].size(); ++d)
          for (int factor : rule.operands[i][d])
            for (const std::vector<int>& kept : rule.results[0])
              if (std::find(kept.begin(), kept.end(), factor) != kept.end()) forms[i][d].clear();
      own = std::max(own, propagated_work({rule, cuttable_factors(*node.op, rule)}, forms));
    }
    if (known[std::size_t(node.results[0])]) own = std::max(own, program.graph.type(node.results[0]).elements());
    work += own;
  }
  return work;
}

constexpr int kProgramsEach = 20;

class RandomPrograms : public ::testing::TestWithParam<int> {};

void check_program(unsigned seed) {
  RandomProgram random(seed);
  random.make();
  SCOPED_TRACE(fmt::format("program of seed {} on {}\n{}", seed, random.input().mesh.text(), print(random.graph())));
  std::vector<Bytes> data = random.data();
  std::vector<Bytes> whole = run_whole(random.graph(), data);
  try {
    PartitionedProgram program = partition(random.input());
    EXPECT_EQ(run_partitioned(program, data), whole) << print(program);
    EXPECT_EQ(print(program), print(partition(random.input())));
    PartitionedProgram alone = partition(random.input(), {.search = false});
    EXPECT_EQ(run_partitioned(alone, data), whole) << print(alone);
    EXPECT_FALSE(text_of(explain(program), program).empty());
    PartitionedProgram lighter = partition(random.input(), {.lighten = transform::lightened});
    EXPECT_EQ(run_partitioned(lighter, data), whole) << print(lighter);
    // At more bytes only what is less arithmetic, and then at no more than op by op.
    EXPECT_LE(lighter.wire_bytes, std::max(alone.wire_bytes, program.wire_bytes));
    if (lighter.wire_bytes > program.wire_bytes) { EXPECT_LT(work_per_device(lighter), work_per_device(program)) << print(lighter); }
    EXPECT_FALSE(text_of(explain(lighter), lighter).empty());
    // Bytes are never bought by repeated work.
    EXPECT_LE(work_per_device(program), propagated_work_of(program)) << print(program);
  } catch (const Error& error) { ADD_FAILURE() << error.what(); }
}

TEST_P(RandomPrograms, ComputeWhatTheyComputeWhole) {
  for (int i = 0; i < kProgramsEach; ++i) check_program(unsigned(GetParam() * kProgramsEach + i));
}

// Programs that were not as they must be once.
constexpr unsigned kCorpus[] = {675721015, 675725911, 1761276218, 1762265775, 1762280756, 1764309860};

TEST(RandomPrograms, ThatFailedOnceHold) {
  for (unsigned seed : kCorpus) check_program(seed);
}

// SHARDLAB_FUZZ_PROGRAM=17 runs the program of one seed.
TEST(RandomPrograms, OneBySeed) {
  const char* seed = std::getenv("SHARDLAB_FUZZ_PROGRAM");
  if (seed == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_PROGRAM is not set";
  check_program(unsigned(std::atoll(seed)));
}

// As long as SHARDLAB_FUZZ_SECONDS says, from seed SHARDLAB_FUZZ_SEED on: the long run of benchmarks/soak.
TEST(RandomPrograms, HoldForAsLongAsAsked) {
  const char* seconds = std::getenv("SHARDLAB_FUZZ_SECONDS");
  if (seconds == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_SECONDS is not set";
  const char* first = std::getenv("SHARDLAB_FUZZ_SEED");
  unsigned seed = first == nullptr ? 0 : unsigned(std::atoll(first)) * 1'000'000u, programs = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoll(seconds));
  while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure()) {
    check_program(seed++);
    ++programs;
  }
  std::printf("%u programs, from seed %u on\n", programs, seed - programs);
}

TEST(RandomPrograms, PlannedTogetherTheyMoveNoMoreThanOpByOp) {
  int fewer = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomProgram random(seed);
    random.make();
    PartitionedProgram together = partition(random.input()), alone = partition(random.input(), {.search = false});
    PartitionedProgram finer = partition(random.input(), {.exact_results = false});
    EXPECT_LE(together.wire_bytes, alone.wire_bytes) << "seed " << seed;
    EXPECT_LE(finer.wire_bytes, together.wire_bytes) << "seed " << seed;
    fewer += together.wire_bytes < alone.wire_bytes;
  }
  EXPECT_GT(fewer, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range(0, 60));

}  // namespace
}  // namespace shardlab::spmd
