// Plans: wire bytes and collectives of small programs, against what was measured of JAX and what is best.
#include "runtime/spmd/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/spmd/explain.h"
#include "runtime/spmd/work.h"
#include "tests/spmd/graphs.h"
#include "tests/spmd/simulator.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;
using Ints = std::vector<std::int64_t>;

TEST(Partition, OneAllReduceForAllDimensions) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  Graph graph = build.finish({build.op("sum", {build.param({16, 8})})});
  PartitionedProgram program = plan(graph, mesh, {"ba"});
  EXPECT_EQ(program.wire_bytes, 56);  // JAX: 80, one all-reduce a dimension
  EXPECT_EQ(collectives(program), (std::vector<std::string>{"all-reduce"}));
  const auto& move = std::get<MoveStep>(program.steps.back());
  EXPECT_EQ(move.groups, (std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(move.cause, "sum over the reduced factors of reduce_sum, sharded on a, b");
}

TEST(Partition, ReduceScatterWhereTheResultIsWantedScattered) {
  Mesh mesh = mesh_of({4});
  Build build;
  ValueId x = build.param({16, 256}), y = build.param({256, 16});
  Graph graph = build.finish({build.op("matmul", {x, y})});
  PropagationInput input = input_of(graph, mesh, {"-a", "a-"});
  input.results = {spec_of(mesh, "a-")};
  EXPECT_EQ(collectives(partition(input)), (std::vector<std::string>{"reduce-scatter"}));
}

// A slice of 12 columns in 8 parts is uneven: what is computed on it is not computed whole for that, as XLA's, which moves 8,192 bytes.
TEST(Partition, UnevenPartsAreNoReasonToComputeWhole) {
  Mesh mesh = mesh_of({8});
  Build build;
  ValueId x = build.param({16, 24});
  ValueId y = build.op("slice", {x}, Attrs{{"start", Shape{0, 12}}, {"limit", Shape{16, 24}}});
  Graph graph = build.finish({build.op("sin", {y}), build.op("mul", {x, x})});
  PartitionedProgram program = plan(graph, mesh, {"-a"});
  EXPECT_LE(work_per_device(program), 16 * 12 / 8 + 16 * 24 / 8);
  EXPECT_LE(program.wire_bytes, 8192);
}

// An axis along which everything is replicated shares the work where that moves no more.
TEST(Partition, IdleAxesShareAProductAtTheSameBytes) {
  Mesh mesh = mesh_of({2, 2, 2});
  Build build;
  ValueId x = build.param({16, 16});
  Graph graph = build.finish({build.op("matmul", {x, x})});
  PartitionedProgram program = plan(graph, mesh, {"bc"});
  EXPECT_EQ(program.wire_bytes, 4096);
  EXPECT_EQ(work_per_device(program), 16 * 16 * 16 / 8);  // JAX's too
  EXPECT_EQ(text_of(result_spec(program), mesh), "P('b', 'c')");
}

// Random numbers depend on the key and their place: each device makes its own alone.
TEST(Partition, RandomNumbersAreMadeInTheirParts) {
  struct Case {
    const char* op;
    Attrs attrs;
    const char* result;
    std::int64_t parts;
  };
  Mesh mesh = mesh_of({4, 2});
  const DType word = DType::kUint32;
  for (const Case& c :
       {Case{"random.bits", {{"shape", Ints{16, 8}}, {"dtype", word}}, "ab", 8},
        Case{"random.bits", {{"shape", Ints{16, 8}}, {"dtype", word}}, "-b", 2}, Case{"random.split", {{"num", Ints{32}}}, "a-", 4}}) {
    Build build;
    Graph graph = build.finish({build.op(c.op, {build.param({2}, word)}, c.attrs)});
    PropagationInput input = input_of(graph, mesh, {"-"});
    input.results = {spec_of(mesh, "--")};
    PartitionedProgram whole = partition(input);
    input.results = {spec_of(mesh, c.result)};
    PartitionedProgram program = partition(input);
    EXPECT_EQ(work_per_device(program) * c.parts, work_per_device(whole)) << print(program);
    EXPECT_EQ(program.wire_bytes + whole.wire_bytes, 0);
    EXPECT_EQ(text_of(result_spec(program), mesh), text_of(spec_of(mesh, c.result), mesh));
  }
}

// As XLA's: rows are shared out, sorted, and exchanged for columns.
TEST(Partition, ASortIsSharedWhereItsResultIsWantedInParts) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  Graph graph = build.finish({build.op("sort", {build.param({32, 64})}, Attrs{{"axis", std::int64_t(1)}})});
  PropagationInput input = input_of(graph, mesh, {"--"});
  input.results = {spec_of(mesh, "-a")};
  PartitionedProgram program = partition(input);
  EXPECT_EQ(work_per_device(program), 32 * 64 / 4);
  EXPECT_EQ(program.wire_bytes, 12'288);
}

struct MatmulCase {
  Shape lhs, rhs;
  const char *lhs_spec, *rhs_spec;
  std::int64_t bytes_at_most;
};

TEST(Partition, MatmulBytes) {
  Mesh mesh = mesh_of({4, 2});
  for (const MatmulCase& c : {MatmulCase{{16, 8}, {8, 16}, "-b", "b-", 7168},  // JAX: 8192; 4096 would multiply all on every device
                              MatmulCase{{16, 16}, {16}, "a-", "-", 640},      // JAX: 3072 where the other way round
                              MatmulCase{{16, 8}, {8, 16}, "a-", "-b", 0}, MatmulCase{{16, 8}, {8, 16}, "--", "--", 0}}) {
    Build build;
    ValueId x = build.param(c.lhs), y = build.param(c.rhs);
    Graph graph = build.finish({build.op("matmul", {x, y})});
    EXPECT_LE(plan(graph, mesh, {c.lhs_spec, c.rhs_spec}).wire_bytes, c.bytes_at_most) << c.lhs_spec << " " << c.rhs_spec;
  }
}

TEST(Partition, ARollExchangesItsHaloAlone) {
  Mesh mesh = mesh_of({4, 2});
  for (auto [spec, bytes] : {std::pair("a-", 8 * 32), std::pair("-a", 8 * 64), std::pair("(ab)-", 8 * 32), std::pair("--", 0)}) {
    Build build;
    Graph graph = build.finish(
        {build.op("roll", {build.param({16, 8})}, Attrs{{"shift", std::int64_t(1)}, {"axis", std::int64_t(spec[0] == '-' ? 1 : 0)}})});
    PartitionedProgram program = plan(graph, mesh, {spec});
    EXPECT_EQ(program.wire_bytes, bytes) << spec << "\n" << print(program);
    EXPECT_EQ(result_spec(program), spec_of(mesh, spec));
  }
}

TEST(Partition, ASliceOfAJoinAsksThePartsItIsMadeOf) {
  Mesh mesh = mesh_of({4, 2});
  auto bytes = [&](Ints start, Ints limit, bool pads) {
    Build build;
    ValueId x = build.param({16, 8}), y = build.param({16, 8});
    ValueId doubled = build.op("add", {y, y});
    ValueId joined = build.op("concatenate", {x, doubled}, Attrs{{"axis", std::int64_t(0)}});
    if (pads) joined = build.op("pad", {joined}, Attrs{{"padding", Ints{2, 0, 0, 0, 0, 0}}});
    Graph graph = build.finish({build.op("sin", {build.op("slice", {joined}, Attrs{{"start", start}, {"limit", limit}})})});
    return plan(graph, mesh, {"a-", "a-"}).wire_bytes;
  };
  EXPECT_EQ(bytes({16, 0}, {32, 8}, false), 0);  // as in JAX
  EXPECT_EQ(bytes({18, 0}, {34, 8}, true), 0);
  EXPECT_LE(bytes({14, 0}, {30, 8}, false), 8 * 2 * 8 * 4);  // the halo of a shift by 2: two rows a device
}

TEST(Partition, ADiagonalIsSummedOverTheDevicesThatHoldIt) {
  Mesh mesh = mesh_of({4, 2});
  for (auto [offset, bytes] : {std::pair(0, 2 * 7 * 8 * 4), std::pair(1, 2 * 7 * 7 * 4)}) {
    Build build;
    Graph graph = build.finish({build.op("diagonal", {build.param({8, 8})}, Attrs{{"offset", std::int64_t(offset)}})});
    PartitionedProgram program = plan(graph, mesh, {"ab"});
    EXPECT_LE(program.wire_bytes, bytes) << offset;  // JAX's, one all-reduce
  }
}

TEST(Partition, UnevenFormsInsideNeedNoPadding) {
  Mesh mesh = mesh_of({4, 2});
  for (const Shape& shape : {Shape{10, 7}, Shape{1, 3}, Shape{0, 5}}) {
    Build build;
    ValueId x = build.param(shape, DType::kInt32);
    ValueId h = build.constraint(build.op("mul", {x, x}), mesh, "ab");
    Graph graph = build.finish({build.op("sum", {build.op("neg", {h})}, Attrs{{"axis", std::int64_t(0)}}), build.op("transpose", {h})});
    PartitionedProgram program = plan(graph, mesh, {"--"});
    bool is_held = false;
    for (const Slot& slot : program.slots) is_held |= slot.spec == spec_of(mesh, "ab");
    EXPECT_TRUE(is_held) << print(program);
    std::vector<Bytes> data{random_int32(shape, 1)};
    EXPECT_EQ(run_partitioned(program, data), run_whole(graph, data)) << print(program);
  }
}

TEST(Partition, ExplainsWhoAsksAndWhatWouldAvoidIt) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}), w = build.param({8, 16});
  Graph graph = build.finish({build.op("relu", {build.op("matmul", {x, w})})});
  PartitionedProgram program = plan(graph, mesh, {"ab", "b-"});
  Explanation explanation = explain(program);
  ASSERT_EQ(explanation.collectives.size(), 1u);
  EXPECT_EQ(explanation.collectives[0].purpose, CollectiveReason::Purpose::kReduction);
  EXPECT_EQ(explanation.collectives[0].wire_bytes, program.wire_bytes);
  EXPECT_EQ(explanation.collectives[0].avoided_by, "%0 as P('a', None) and %1 as P(None, None)");
  const ValueReason& product = explanation.values[std::size_t(program.graph.nodes[0].results[0])];
  ASSERT_EQ(product.pieces.size(), 1u);
  EXPECT_EQ(product.pieces[0].chain.back().kind, Origin::Kind::kParameter);
  EXPECT_THAT(text_of(explanation, program), ::testing::HasSubstr("dimension 0 is cut by 'a': from %0 through dot_general"));
}

TEST(Partition, AConstraintIsReachedByTheLeastBytes) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId h = build.op("sin", {build.param({16, 8})});
  Graph graph = build.finish({build.op("cos", {build.constraint(h, mesh, "-a")})});
  PartitionedProgram program = plan(graph, mesh, {"(ab)-"});
  EXPECT_EQ(program.wire_bytes, 896);  // JAX: 3584, gathers all and slices
  EXPECT_EQ(text_of(result_spec(program), mesh), "P(None, 'a')");
}

TEST(Partition, AFormThatIsAtHandIsNotMadeAgain) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 16}), y = build.param({16, 16}), z = build.param({16, 16});
  Graph graph = build.finish({build.op("add", {x, y}), build.op("mul", {x, z})});
  PartitionedProgram program = plan(graph, mesh, {"-b", "(ab)-", "(ab)-"});
  int moves_of_x = 0;
  for (const Step& step : program.steps)
    if (const auto* move = std::get_if<MoveStep>(&step); move != nullptr && move->kind != "slice")
      moves_of_x += program.slots[std::size_t(move->from)].value == 0;
  EXPECT_EQ(moves_of_x, 1) << print(program);
}

// Half of x is wanted first, all of it then: 768 + 1024 bytes, where the half can be cut from the whole, 1536.
TEST(Partition, AWholeThatIsWantedLaterServesEarlierUsesToo) {
  Mesh mesh = mesh_of({2, 4});
  Build build;
  ValueId x = build.param({8, 8});
  ValueId rows = build.constraint(build.op("transpose", {x}), mesh, "-a");
  Graph graph =
      build.finish({build.constraint(rows, mesh, "a-"), build.op("square", {build.op("reshape", {x}, Attrs{{"shape", Ints{64}}})})});
  EXPECT_EQ(plan(graph, mesh, {"-b"}).wire_bytes, 8 * (64 - 16) * 4);  // JAX: 2048
}

TEST(Partition, SeveralFormsAreSlicedFromOneThatNobodyWants) {
  Mesh mesh = mesh_of({2, 2, 2});
  Build build;
  ValueId x = build.op("square", {build.param({8, 8})});
  std::vector<ValueId> forms;
  for (std::string_view spec : {"a-", "b-", "c-", "-a"}) forms.push_back(build.op("sin", {build.constraint(x, mesh, spec)}));
  PartitionedProgram program = plan(build.finish(forms), mesh, {"(abc)-"});
  EXPECT_EQ(program.wire_bytes, 8 * (64 - 8) * 4);  // one after the other: 8 * (24 + 16 + 16 + 16) * 4
  EXPECT_EQ(collectives(program), (std::vector<std::string>{"all-gather"}));
}

TEST(Partition, ConstantsAreComputedWhereTheyAreNeeded) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8});
  Graph graph = build.finish({build.op("add", {build.op("mul", {x, Scalar{2.0}}), Scalar{1.0}})});
  PartitionedProgram program = plan(graph, mesh, {"ab"});
  EXPECT_EQ(program.wire_bytes, 0);
  for (const Step& step : program.steps) EXPECT_TRUE(std::holds_alternative<ComputeStep>(step)) << print(program);
  for (const Slot& slot : program.slots) EXPECT_TRUE(slot.type.rank() == 0 || slot.spec == spec_of(mesh, "ab"));
}

TEST(Partition, SoftmaxReducesItsRowsAlone) {
  Mesh mesh = mesh_of({4, 2});
  if (find_op("softmax") == nullptr) GTEST_SKIP() << "no softmax yet";
  Build build;
  Graph graph = build.finish({build.op("softmax", {build.param({16, 8})}, Attrs{{"axis", std::int64_t(1)}})});
  PartitionedProgram program = plan(graph, mesh, {"ab"});
  EXPECT_EQ(program.wire_bytes, 2 * 4 * 2 * (4 * 4));  // max and sum: 4 groups of 2, rows of 4 floats, 2(g-1)r
  EXPECT_EQ(text_of(result_spec(program), mesh), "P('a', 'b')");
}

TEST(Partition, ResultsMayStayFinerWhereThatIsAllowed) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  Graph graph = build.finish({build.op("reshape", {build.param({16})}, Attrs{{"shape", Ints{2, 8}}})});
  EXPECT_GT(partition(input_of(graph, mesh, {"a"})).wire_bytes, 0);
  EXPECT_EQ(partition(input_of(graph, mesh, {"a"}), {.exact_results = false}).wire_bytes, 0);
}

TEST(Partition, PrintsCanonically) {
  Mesh mesh = mesh_of({2, 2}, {3, 1, 2, 0});
  Build build;
  Graph graph = build.finish({build.op("sum", {build.op("sin", {build.param({4, 8})})}, Attrs{{"axis", std::int64_t(0)}})});
  EXPECT_EQ(print(plan(graph, mesh, {"ab"})), R"(main(%0: float32[4,8]) {
  %1 = sin(%0) : float32[4,8]
  %2 = reduce_sum(%1) {axes = [0]} : float32[8]
  return %2
}
on Mesh('a': 2, 'b': 2, devices=[3,1,2,0]) {
  s0 = parameter 0 : %0 float32[4,8] P('a', 'b')
  s1 = sin(s0) : %1 float32[4,8] P('a', 'b')
  s2 = reduce_sum(s1) : %2 float32[8] P('b',) partial over ('a')
  s3 = all-reduce sum(s2) over ('a') groups [[0,2],[1,3]] : %2 float32[8] P('b',)
  return s3
}
)");
}

TEST(Partition, VerifyFindsAStepThatCannotBe) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  Graph graph = build.finish({build.op("sum", {build.op("sin", {build.param({16, 8})})})});
  PartitionedProgram program = plan(graph, mesh, {"ab"});
  PartitionedProgram lacks_data = program, not_reduced = program;
  lacks_data.slots[std::size_t(lacks_data.params[0])].spec = spec_of(mesh, "b-");
  EXPECT_THROW(verify(lacks_data), InternalError);
  not_reduced.slots.back().partial = {mesh.whole_axis(0)};
  EXPECT_THROW(verify(not_reduced), InternalError);
}

}  // namespace
}  // namespace shardlab::spmd
