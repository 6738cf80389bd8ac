// Graphs inside nodes: shape rules, text, equality, verification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;

const TensorType kVector{DType::kFloat32, {4}};
const TensorType kCount{DType::kInt32, {}};

GraphRef unary(std::string name, std::string_view op, const TensorType& type) {
  GraphBuilder b(std::move(name));
  ValueId x = b.param(type);
  b.set_results({b.emit1(*find_op(op), {x})});
  return std::make_shared<const Graph>(b.finish());
}

// scan over three rows: the carry's sine, and each row's cosine.
Graph scan_graph(const TensorType& carry_out = kVector) {
  GraphBuilder body("each");
  ValueId carry = body.param(kVector), row = body.param(kVector);
  ValueId next = body.emit1(*find_op("sin"), {carry});
  if (carry_out.dtype != DType::kFloat32) next = body.emit1(*find_op("convert"), {next}, Attrs{{"dtype", carry_out.dtype}});
  body.set_results({next, body.emit1(*find_op("cos"), {row})});
  GraphBuilder b;
  ValueId x = b.param(kVector), rows = b.param({DType::kFloat32, {3, 4}});
  Bodies bodies{std::make_shared<const Graph>(body.finish())};
  b.set_results(
      b.emit(*find_op("scan"), {x, rows}, Attrs{{"bodies", bodies}, {"length", std::int64_t(3)}, {"num_carry", std::int64_t(1)}}));
  return b.finish();
}

TEST(Bodies, PrintInsideTheirNodeAndReadBack) {
  Graph graph = scan_graph();
  verify(graph);
  EXPECT_EQ(graph.type(graph.results[1]).text(), "float32[3,4]");
  std::string text = print(graph);
  EXPECT_EQ(text, R"(main(%0: float32[4], %1: float32[3,4]) {
  %2, %3 = scan(%0, %1) {bodies = [
    each(%0: float32[4], %1: float32[4]) {
      %2 = sin(%0) : float32[4]
      %3 = cos(%1) : float32[4]
      return %2, %3
    }
    ], length = 3, num_carry = 1} : float32[4], float32[3,4]
  return %2, %3
}
)");
  Graph back = parse_graph(text, find_op);
  verify(back);
  EXPECT_EQ(print(back), text);
  EXPECT_TRUE(back.nodes[0].attrs == graph.nodes[0].attrs);
}

TEST(Bodies, BranchesWithNamesInQuotes) {
  GraphBuilder b;
  ValueId which = b.param(kCount), x = b.param(kVector);
  Bodies bodies{unary("first one", "sin", kVector), unary("second", "cos", kVector)};
  b.set_results(b.emit(*find_op("cond"), {which, x}, Attrs{{"bodies", bodies}}));
  std::string text = print(b.graph());
  EXPECT_EQ(print(parse_graph(text, find_op)), text);
}

TEST(Bodies, ListsOfNamesAndShardings) {
  Mesh mesh({2, 2}, {"a", "b"}, {0, 1, 2, 3});
  TensorType local{DType::kFloat32, {2}};
  GraphBuilder b;
  ValueId x = b.param(kVector);
  Attrs attrs{{"bodies", Bodies{unary("body", "sin", local)}},
              {"in_specs", std::vector<Sharding>{Sharding(mesh, P("a"))}},
              {"out_specs", std::vector<Sharding>{Sharding(mesh, P(std::vector<std::string>{"a", "b"}))}},
              {"axis_names", std::vector<std::string>{"a", "b"}}};
  b.set_results(b.emit(*find_op("shard_map"), {x}, attrs));
  EXPECT_EQ(b.shape(b.graph().results[0]), Shape{8});
  std::string text = print(b.graph());
  Graph back = parse_graph(text, find_op);
  EXPECT_EQ(print(back), text);
  EXPECT_EQ(back.nodes[0].attrs.strings("axis_names"), (std::vector<std::string>{"a", "b"}));
}

// JAX's text, with both types.
TEST(Bodies, ACarryKeepsItsType) {
  try {
    scan_graph({DType::kInt32, {4}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("scan body function carry input and carry output must have equal types, but they differ"));
    EXPECT_THAT(error.what(),
                HasSubstr("the input carry component carry[0] has type float32[4] but the corresponding output carry component "
                          "has type int32[4], so the dtypes do not match"));
  }
}

TEST(Bodies, EveryNodeIsVisited) {
  std::vector<std::string> seen;
  visit_nodes(scan_graph(), [&](const Node& node) { seen.emplace_back(node.op->name); });
  EXPECT_EQ(seen, (std::vector<std::string>{"sin", "cos", "scan"}));
}

TEST(Bodies, VerifyLooksInside) {
  Graph graph = scan_graph();
  Graph broken = *graph.nodes[0].attrs.bodies()[0];
  broken.values[std::size_t(broken.results[0])].type.dtype = DType::kInt32;
  graph.nodes[0].attrs.set("bodies", Bodies{std::make_shared<const Graph>(std::move(broken))});
  EXPECT_THROW(verify(graph), InternalError);
}

}  // namespace
}  // namespace shardlab
