#include <gtest/gtest.h>

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

Graph sum_of_sin() {
  GraphBuilder b;
  ValueId x = b.param({DType::kFloat32, {4, 8}});
  Where where{"toy.cpp", "main", 31, -1};
  ValueId y = b.call(*find_op("sin"), std::vector<Arg>{x}, {}, where)[0];
  b.set_results(b.call(*find_op("sum"), std::vector<Arg>{y}, {}, where));
  return b.finish();
}

TEST(Print, OneLineANode) {
  EXPECT_EQ(print(sum_of_sin()), R"(main(%0: float32[4,8]) {
  %1 = sin(%0) : float32[4,8]
  %2 = reduce_sum(%1) {axes = [0, 1]} : float32[]
  return %2
}
)");
}

TEST(Print, SourceLinesWhereAsked) {
  std::string text = print(sum_of_sin(), true);
  EXPECT_NE(text.find("float32[]  // sum at toy.cpp:31"), std::string::npos) << text;
  EXPECT_EQ(print(parse_graph(text, find_op)), print(sum_of_sin()));
}

// Ids do not show: the same program with other ids prints alike.
TEST(Print, NumbersInOrder) {
  Graph graph = sum_of_sin();
  std::string before = print(graph);
  graph.values.insert(graph.values.begin(), Value{{DType::kFloat32, {1}}, -1, 0});
  auto shift = [](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) ++id;
  };
  shift(graph.params);
  shift(graph.results);
  for (Node& node : graph.nodes) {
    shift(node.operands);
    shift(node.results);
  }
  EXPECT_EQ(print(graph), before);
}

TEST(Graph, DropsDeadNodes) {
  GraphBuilder b;
  ValueId x = b.param({DType::kFloat32, {4}});
  ValueId unused = b.param({DType::kFloat32, {2}});
  b.emit1(*find_op("cos"), {unused});
  ValueId y = b.emit1(*find_op("sin"), {x});
  b.emit1(*find_op("exp"), {y});
  b.set_results({y});
  Graph graph = without_dead_nodes(b.finish());
  verify(graph);
  EXPECT_EQ(print(graph), R"(main(%0: float32[4], %1: float32[2]) {
  %2 = sin(%0) : float32[4]
  return %2
}
)");
}

}  // namespace
}  // namespace shardlab
