// Programs at the borders: no nodes, scalars, nothing in a dimension, one device, axes of size 1, many results, many devices.
#include <gtest/gtest.h>

#include "tests/spmd/graphs.h"
#include "tests/spmd/simulator.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;
using Ints = std::vector<std::int64_t>;

TEST(EdgeCases, ParametersReturnedAndOneValueTwice) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}), y = build.op("sin", {x});
  Graph graph = build.finish({x, y, y, x});
  PartitionedProgram program = plan(graph, mesh, {"ab"});
  EXPECT_EQ(program.wire_bytes, 0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result_spec(program, i), spec_of(mesh, "ab"));
}

TEST(EdgeCases, OneValueInTwoOutShardings) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}, DType::kInt32), y = build.op("neg", {x});
  Graph graph = build.finish({y, y});
  PropagationInput input = input_of(graph, mesh, {"a-"});
  input.results = {spec_of(mesh, "-a"), spec_of(mesh, "b-")};
  PartitionedProgram program = partition(input);
  EXPECT_EQ(result_spec(program, 0), spec_of(mesh, "-a"));
  EXPECT_EQ(result_spec(program, 1), spec_of(mesh, "b-"));
  Bytes data = random_int32({16, 8}, 1);
  EXPECT_EQ(run_partitioned(program, {data}), run_whole(graph, {data}));
}

// Sums over b of parts of 3 are wanted in parts of 2, some of which two devices hold: they cannot be scattered straight into them.
TEST(EdgeCases, PartialResultsInUnevenPartsThatDoNotNest) {
  for (const char* wanted : {"(ab)", "(ba)", "a", "b", "-"}) {
    Mesh mesh = mesh_of({3, 2}, {2, 1, 5, 0, 4, 3});
    Build build;
    ValueId x = build.param({9, 4, 7}, DType::kInt32);
    ValueId total = build.op("sum", {x}, Attrs{{"axis", Ints{1, 2}}});
    Graph graph = build.finish({build.constraint(total, mesh, wanted), build.op("neg", {total})});
    PartitionedProgram program = plan(graph, mesh, {"ab-"});
    Bytes data = random_int32({9, 4, 7}, 1);
    EXPECT_EQ(run_partitioned(program, {data}), run_whole(graph, {data})) << wanted;
  }
}

TEST(EdgeCases, PartialResultsInMorePartsThanThereAreElements) {
  Mesh mesh = mesh_of({2, 3}, {2, 0, 5, 4, 3, 1});
  for (const char* wanted : {"(ab)", "(ba)", "a"}) {
    Build build;
    ValueId x = build.param({6, 3}, DType::kInt32);
    Graph graph = build.finish({build.constraint(build.op("sum", {x}, Attrs{{"axis", std::int64_t(0)}}), mesh, wanted), x});
    PartitionedProgram program = plan(graph, mesh, {"b-"});
    Bytes data = random_int32({6, 3}, 1);
    EXPECT_EQ(run_partitioned(program, {data}), run_whole(graph, {data})) << wanted;
  }
}

TEST(EdgeCases, NoNodesAndNoParameters) {
  Mesh mesh = mesh_of({2});
  Build empty;
  EXPECT_TRUE(plan(empty.finish({}), mesh, {}).steps.empty());
  Build constant;
  Graph graph = constant.finish({constant.op("add", {Scalar{1.0}, Scalar{2.0}})});
  EXPECT_EQ(plan(graph, mesh, {}).wire_bytes, 0);
}

TEST(EdgeCases, ScalarsAreWholeEverywhere) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}, DType::kInt32), s = build.param({}, DType::kInt32);
  ValueId total = build.op("sum", {x});
  Graph graph = build.finish({build.op("mul", {build.op("add", {x, s}), total}), build.op("add", {s, total})});
  PartitionedProgram program = plan(graph, mesh, {"ab", ""});
  Bytes data = random_int32({16, 8}, 1), scalar = random_int32({}, 2);
  EXPECT_EQ(run_partitioned(program, {data, scalar}), run_whole(graph, {data, scalar}));
}

TEST(EdgeCases, DimensionsOfSizeZero) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({0, 8}, DType::kInt32), y = build.param({0, 8}, DType::kInt32);
  ValueId z = build.op("add", {x, y});
  Graph graph = build.finish({z, build.op("sum", {z}, Attrs{{"axis", std::int64_t(0)}})});
  PartitionedProgram program = plan(graph, mesh, {"ab", "b-"});
  EXPECT_EQ(run_partitioned(program, {{}, {}}), run_whole(graph, {{}, {}}));
}

TEST(EdgeCases, NothingIsMovedFreely) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({0, 8}, DType::kInt32);
  Graph graph = build.finish({x, build.op("sum", {x}, Attrs{{"axis", std::int64_t(0)}})});
  PropagationInput input = input_of(graph, mesh, {"-a"});
  input.results = {spec_of(mesh, "-b"), std::nullopt};
  PartitionedProgram program = partition(input);
  EXPECT_EQ(result_spec(program, 0), spec_of(mesh, "-b"));
  EXPECT_EQ(run_partitioned(program, {{}}), run_whole(graph, {{}}));
}

TEST(EdgeCases, OneDevice) {
  for (const Mesh& mesh : {Mesh(), mesh_of({1}), mesh_of({1, 1})}) {
    Build build;
    ValueId x = build.param({3, 5}, DType::kInt32);
    Graph graph = build.finish({build.op("sum", {build.op("matmul", {x, build.op("transpose", {x})})})});
    PropagationInput input{&graph, mesh, {Spec(2)}, {}};
    if (mesh.axis_count() == 2) input.params[0] = spec_of(mesh, "ab");
    PartitionedProgram program = partition(input);
    EXPECT_EQ(program.wire_bytes, 0);
    EXPECT_TRUE(collectives(program).empty()) << print(program);
    Bytes data = random_int32({3, 5}, 1);
    EXPECT_EQ(run_partitioned(program, {data}), run_whole(graph, {data}));
  }
}

TEST(EdgeCases, AxesOfSizeOneStayInTheSpec) {
  Mesh mesh = mesh_of({4, 1});
  Build build;
  ValueId x = build.param({8, 8});
  Graph graph = build.finish({build.op("sin", {x})});
  PartitionedProgram program = plan(graph, mesh, {"ab"});
  EXPECT_EQ(text_of(result_spec(program), mesh), "P('a', 'b')");
  EXPECT_EQ(program.wire_bytes, 0);
}

TEST(EdgeCases, UnevenConstraintsAreHeldInTheirEvenPart) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({6, 8}, DType::kInt32);
  Graph graph = build.finish({build.op("neg", {build.constraint(build.op("neg", {x}), mesh, "(ba)-")})});
  PartitionedProgram program = plan(graph, mesh, {"--"});
  EXPECT_EQ(text_of(result_spec(program), mesh), "P('b', None)");
  Bytes data = random_int32({6, 8}, 1);
  EXPECT_EQ(run_partitioned(program, {data}), run_whole(graph, {data}));
}

TEST(EdgeCases, OpenParametersTakeWhatIsPropagated) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}), y = build.param({16, 8});
  Graph graph = build.finish({build.op("add", {x, y})});
  PartitionedProgram program = plan(graph, mesh, {"ab", "?"});
  EXPECT_EQ(program.slots[std::size_t(program.params[1])].spec, spec_of(mesh, "ab"));
  EXPECT_EQ(program.wire_bytes, 0);
}

TEST(EdgeCases, FiveHundredAndTwelveDevices) {
  for (const Shape& shape : {Shape{512}, Shape{8, 8, 8}, Shape{32, 16}, Shape{2, 2, 2, 2, 2, 2, 2, 2, 2}}) {
    Mesh mesh = mesh_of(shape);
    Build build;
    ValueId x = build.param({512, 1024}, DType::kInt32), y = build.param({1024, 512}, DType::kInt32);
    Graph graph = build.finish({build.op("sum", {build.op("matmul", {x, y})}, Attrs{{"axis", std::int64_t(0)}})});
    Spec all(2);
    for (int axis = 0; axis < mesh.axis_count(); ++axis) all[std::size_t(axis % 2)].push_back(mesh.whole_axis(axis));
    PropagationInput input{&graph, mesh, {all, all}, {}};
    PartitionedProgram program = partition(input);
    EXPECT_GT(program.wire_bytes, 0);
  }
}

}  // namespace
}  // namespace shardlab::spmd
