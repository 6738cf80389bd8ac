// What is computed again where it is read, instead of kept: masks and factors of one value, beside products.
#include "runtime/exec/compute_at_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/exec/slot_use.h"
#include "tests/spmd/graphs.h"

namespace shardlab {
namespace {

using Names = std::vector<std::string>;
using ::testing::ElementsAre;

// The steps of a graph on one device, as they are then; numbers and what repeats them left out.
Names steps_of(const Graph& graph) {
  spmd::PartitionedProgram program = testing::plan(graph, testing::mesh_of({1}), std::vector<std::string_view>(graph.params.size(), "--"));
  std::vector<const spmd::Step*> steps;
  for (const spmd::Step& step : program.steps)
    if (!use_of(step).reads.empty()) steps.push_back(&step);
  std::deque<spmd::Step> made;
  compute_at_use(program, steps, made);
  // All is there when it is read.
  std::set<int> there(program.params.begin(), program.params.end());
  for (const spmd::Step& step : program.steps)
    if (use_of(step).reads.empty()) there.insert(use_of(step).writes[0]);
  Names names;
  for (const spmd::Step* step : steps) {
    for (int slot : use_of(step).reads) EXPECT_TRUE(there.count(slot)) << "slot " << slot;
    for (int slot : use_of(step).writes) EXPECT_TRUE(there.insert(slot).second) << "slot " << slot;
    const auto* compute = std::get_if<spmd::ComputeStep>(step);
    const std::string name(compute == nullptr ? "move" : program.graph.nodes[std::size_t(compute->node)].op->name);
    if (name != "broadcast_in_dim") names.push_back(name);
  }
  for (int slot : program.results) EXPECT_TRUE(there.count(slot));
  return names;
}

struct Layer {
  testing::Build b;
  ValueId x = b.param({8, 8}), w = b.param({8, 8});
  ValueId y = b.op("matmul", {x, w}), h = b.op("maximum", {y, Scalar{0.0}});
};

// The factor of a maximum's gradient: of what the maximum was taken of, behind the product that reads the maximum.
TEST(ComputeAtUse, AFactorOfOneValue) {
  Layer layer;
  testing::Build& b = layer.b;
  const ValueId factor = b.op("select", {b.op("equal", {layer.y, layer.h}), b.op("ones_like", {layer.y}), b.op("zeros_like", {layer.y})});
  const ValueId back = b.op("matmul", {layer.h, layer.w});
  EXPECT_THAT(steps_of(b.finish({b.op("mul", {back, factor})})),
              ElementsAre("dot_general", "maximum", "dot_general", "maximum", "equal", "select", "mul"));
}

// Where others read it, too, it stays; where what it comes of is read there anyway, it need not be read.
TEST(ComputeAtUse, WhatOthersReadStays) {
  Layer layer;
  testing::Build& b = layer.b;
  const ValueId back = b.op("matmul", {layer.h, layer.w});
  EXPECT_THAT(steps_of(b.finish({b.op("mul", {back, layer.h})})), ElementsAre("dot_general", "maximum", "dot_general", "mul"));
  Layer both;
  const ValueId again = both.b.op("matmul", {both.h, both.w});
  EXPECT_THAT(steps_of(both.b.finish({both.b.op("mul", {both.b.op("add", {again, both.y}), both.h})})),
              ElementsAre("dot_general", "maximum", "dot_general", "add", "maximum", "mul"));
}

// Of two values, by arithmetic, or as a result it is kept.
TEST(ComputeAtUse, WhatIsOfSeveralOrRoundsIsKept) {
  Layer two;
  const ValueId least = two.b.op("minimum", {two.y, two.x}), back = two.b.op("matmul", {two.y, two.w});
  EXPECT_THAT(steps_of(two.b.finish({two.b.op("mul", {back, least})})), ElementsAre("dot_general", "minimum", "dot_general", "mul"));
  Layer rounds;
  const ValueId sum = rounds.b.op("add", {rounds.y, rounds.y}), next = rounds.b.op("matmul", {rounds.y, rounds.w});
  EXPECT_THAT(steps_of(rounds.b.finish({rounds.b.op("mul", {next, sum})})), ElementsAre("dot_general", "add", "dot_general", "mul"));
  Layer given;
  const ValueId last = given.b.op("matmul", {given.x, given.w});
  EXPECT_THAT(steps_of(given.b.finish({given.h, given.b.op("mul", {last, given.h})})),
              ElementsAre("dot_general", "maximum", "dot_general", "mul"));
}

// What comes of a value that nobody keeps comes of what that comes of.
TEST(ComputeAtUse, OfWhatIsInMemoryAnyway) {
  testing::Build b;
  const ValueId x = b.param({8, 8}), w = b.param({8, 8});
  const ValueId inner = b.op("neg", {b.op("abs", {x})}), product = b.op("matmul", {x, w});
  EXPECT_THAT(steps_of(b.finish({b.op("mul", {product, b.op("maximum", {inner, Scalar{-1.0}})})})),
              ElementsAre("dot_general", "abs", "neg", "maximum", "mul"));
}

}  // namespace
}  // namespace shardlab
