// Programs with less arithmetic move no more, and their values lie as those that they stand for.
#include <gtest/gtest.h>

#include "runtime/spmd/explain.h"
#include "runtime/spmd/work.h"
#include "runtime/transform/lighten.h"
#include "tests/spmd/graphs.h"
#include "tests/spmd/simulator.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;

PartitionedProgram light(const Graph& graph, const Mesh& mesh, const std::vector<std::string_view>& params) {
  return partition(input_of(graph, mesh, params), {.lighten = transform::lightened});
}

TEST(Lightened, WhatRepeatsIsComputedOnce) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.op("sin", {build.op("broadcast_to", {build.param({24})}, Attrs{{"shape", Shape{8, 24}}})});
  Graph graph = build.finish({x});
  PartitionedProgram written = plan(graph, mesh, {"a"}), lighter = light(graph, mesh, {"a"});
  EXPECT_EQ(work_per_device(written), 8 * 6);
  EXPECT_EQ(work_per_device(lighter), 6);
  EXPECT_EQ(lighter.wire_bytes, 0);
  EXPECT_EQ(text_of(result_spec(lighter), mesh), text_of(result_spec(written), mesh));
}

TEST(Lightened, AConstraintThatChangesNothingHidesNoRepeats) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.op("broadcast_to", {build.param({24, 36})}, Attrs{{"shape", Shape{8, 24, 36}}});
  ValueId y = build.constraint(x, mesh, "ba-");
  Graph graph = build.finish({y, build.op("neg", {y})});
  EXPECT_EQ(work_per_device(light(graph, mesh, {"a-"})), 24 * 36 / 4);
}

// XLA multiplies the operands as they lie, and only then finds that one of them is a parameter.
TEST(Lightened, AProductStaysInTheParts) {
  Mesh mesh = mesh_of({2, 4});
  Build build;
  ValueId x = build.param({16, 24}), y = build.param({24, 24});
  Graph graph = build.finish({build.op("matmul", {x, build.op("maximum", {y, y})})});
  PartitionedProgram lighter = light(graph, mesh, {"-b", "--"});
  EXPECT_EQ(work_per_device(lighter), 16 * 24 * 24 / 4);
  EXPECT_LE(lighter.wire_bytes, plan(graph, mesh, {"-b", "--"}).wire_bytes);
}

TEST(Lightened, ExplanationsNameWhatIsLeft) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8});
  Graph graph = build.finish({build.op("sum", {build.op("sin", {build.op("maximum", {x, x})})})});
  PartitionedProgram lighter = light(graph, mesh, {"ab"});
  const std::string text = text_of(explain(lighter), lighter);
  EXPECT_EQ(text.find("maximum"), std::string::npos) << text;
  EXPECT_NE(text.find("from %0 through sin"), std::string::npos) << text;
}

// A sort along a dimension that is cut runs in as many parts along another one.
// Only where nothing is rounded otherwise, overflows or vanishes: products of what is large are scaled down before them.
TEST(Lightened, SmallPowersOfTwoAreMultipliedTogether) {
  Mesh mesh = mesh_of({4, 2});
  auto work_with = [&](double first, double second) {
    Build build;
    ValueId x = build.param({16}), y = build.param({16});
    ValueId scaled = build.op("mul", {x, Scalar{first}}), other = build.op("mul", {y, Scalar{second}});
    Graph graph = build.finish({build.op("mul", {scaled, other})});
    return work_per_device(light(graph, mesh, {"-", "-"})) / 16;
  };
  const std::int64_t apart = work_with(3, 5);
  EXPECT_EQ(work_with(2, 4), apart - 1);
  EXPECT_EQ(work_with(1e-15, 1e-15), apart);
  EXPECT_EQ(work_with(0.5, 0.5), apart);
  EXPECT_EQ(work_with(1 << 20, 1 << 20), apart);
}

TEST(Lightened, SortsRunInAllParts) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  Graph graph = build.finish({build.op("sort", {build.param({24, 8})}, Attrs{{"axis", std::int64_t(1)}})});
  EXPECT_EQ(work_per_device(plan(graph, mesh, {"-a"})), 24 * 8 / 8);
}

TEST(Lightened, AnUpdateOfAllMovesNoOperand) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}), update = build.param({16, 8}), start = build.param({}, DType::kInt32);
  Graph graph = build.finish({build.op("dynamic_update_slice", {x, update, start, start})});
  EXPECT_EQ(light(graph, mesh, {"ab", "a-", ""}).wire_bytes, 0);
  EXPECT_EQ(text_of(result_spec(light(graph, mesh, {"ab", "a-", ""})), mesh),
            text_of(result_spec(plan(graph, mesh, {"ab", "a-", ""})), mesh));
}

}  // namespace
}  // namespace shardlab::spmd
