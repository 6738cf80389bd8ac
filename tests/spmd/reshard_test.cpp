// Reshard plans: they move what they should, no more than the lower bound, and arrive.
#include "runtime/spmd/reshard.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/ops/primitives.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/partition.h"
#include "tests/spmd/simulator.h"
#include "tests/spmd/specs.h"

namespace shardlab::spmd {
namespace {

using shardlab::testing::mesh_of;
using shardlab::testing::spec_of;

// Every even spec of the shape over whole axes, each used at most once.
void add_specs(const Mesh& mesh, const Shape& shape, Spec& spec, int used, std::vector<Spec>& out) {
  out.push_back(spec);
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (used >> axis & 1) continue;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      spec[d].push_back(mesh.whole_axis(axis));
      if (is_even(shape, spec)) add_specs(mesh, shape, spec, used | 1 << axis, out);
      spec[d].pop_back();
    }
  }
}

std::vector<Spec> all_specs(const Mesh& mesh, const Shape& shape) {
  std::vector<Spec> specs;
  Spec spec(shape.size());
  add_specs(mesh, shape, spec, 0, specs);
  for (Spec& each : specs) each = normalised(each);
  std::sort(specs.begin(), specs.end());
  specs.erase(std::unique(specs.begin(), specs.end()), specs.end());
  return specs;
}

// The identity from one spec to another.
PartitionedProgram reshard_program(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  Graph graph;
  graph.values.push_back({{DType::kInt32, shape}, -1, 0});
  graph.params = graph.results = {0};
  return partition({&graph, mesh, {from}, {to}});
}

std::int64_t lower_bound(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  std::int64_t bytes = 0;
  for (int p = 0; p < mesh.size(); ++p) {
    Box held = box_of(shape, from, mesh, p), wanted = box_of(shape, to, mesh, p);
    bytes += 4 * (element_count(wanted) - element_count(intersect(held, wanted)));
  }
  return bytes;
}

struct ReshardCase {
  Shape mesh, shape;
};

class EveryReshard : public ::testing::TestWithParam<ReshardCase> {};

TEST_P(EveryReshard, MeetsTheLowerBoundAndArrives) {
  Mesh mesh = mesh_of(GetParam().mesh);
  const Shape& shape = GetParam().shape;
  testing::Bytes data = testing::random_int32(shape, 7);
  std::vector<Spec> specs = all_specs(mesh, shape);
  std::mt19937 random(11);
  int pairs = 0;
  for (const Spec& from : specs)
    for (const Spec& to : specs) {
      if (specs.size() > 30 && random() % specs.size() > 30) continue;
      SCOPED_TRACE(text_of(from, mesh) + " to " + text_of(to, mesh));
      PartitionedProgram program = reshard_program(mesh, shape, from, to);
      EXPECT_EQ(program.wire_bytes, lower_bound(mesh, shape, from, to));
      EXPECT_EQ(testing::run_partitioned(program, {data})[0], data);
      ++pairs;
    }
  RecordProperty("pairs", pairs);
}

INSTANTIATE_TEST_SUITE_P(Meshes, EveryReshard,
                         ::testing::Values(ReshardCase{{4, 2}, {16, 8}}, ReshardCase{{2, 2, 2}, {8, 16}}, ReshardCase{{8}, {16, 8}},
                                           ReshardCase{{3, 2}, {6, 12}}, ReshardCase{{6}, {12, 6}}, ReshardCase{{4, 2}, {8, 8, 8}},
                                           ReshardCase{{2, 1, 4}, {8, 8}}, ReshardCase{{1}, {5}}, ReshardCase{{4, 2}, {0, 8}},
                                           ReshardCase{{2, 2, 2, 2}, {16, 16}}, ReshardCase{{7}, {7, 14}}));

std::vector<std::string> kinds(const PartitionedProgram& program) {
  std::vector<std::string> found;
  for (const Step& step : program.steps)
    if (const auto* move = std::get_if<MoveStep>(&step)) found.push_back(move->kind);
  return found;
}

struct KnownReshard {
  const char *from, *to;
  std::vector<std::string> kinds;
  std::int64_t bytes;
};

TEST(Reshard, TakesTheStandardSequenceWhereItWastesNothing) {
  Mesh mesh = mesh_of({4, 2});
  for (const KnownReshard& known :
       {KnownReshard{"--", "ab", {"slice"}, 0}, KnownReshard{"a-", "--", {"all-gather"}, 3072},
        KnownReshard{"ab", "--", {"all-gather"}, 3584}, KnownReshard{"a-", "-a", {"all-to-all"}, 768},
        KnownReshard{"(ab)-", "a-", {"all-gather"}, 512}, KnownReshard{"b-", "-a", {"slice", "all-gather"}, 512},
        KnownReshard{"(ab)-", "(ba)-", {"collective-permute"}, 384}}) {
    SCOPED_TRACE(std::string(known.from) + " to " + known.to);
    PartitionedProgram program = reshard_program(mesh, {16, 8}, spec_of(mesh, known.from), spec_of(mesh, known.to));
    EXPECT_EQ(program.wire_bytes, known.bytes);
    EXPECT_EQ(kinds(program), known.kinds);
  }
}

TEST(Reshard, CutsOfOneAxisThatDoNotFitTogetherAreExchangedDirectly) {
  Mesh mesh = mesh_of({6});
  Spec by_two{{{0, 1, 2}}, {}}, by_three{{{0, 1, 3}}, {}};
  PartitionedProgram program = reshard_program(mesh, {12, 2}, by_two, by_three);
  EXPECT_EQ(program.wire_bytes, lower_bound(mesh, {12, 2}, by_two, by_three));
  testing::Bytes data = testing::random_int32({12, 2}, 3);
  EXPECT_EQ(testing::run_partitioned(program, {data})[0], data);
}

}  // namespace
}  // namespace shardlab::spmd
