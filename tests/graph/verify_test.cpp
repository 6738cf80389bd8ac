// verify() names the node of every broken invariant.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

Graph sound() {
  GraphBuilder b;
  ValueId x = b.param({DType::kFloat32, {4, 2}});
  ValueId y = b.emit1(*find_op("sin"), {x});
  b.set_results({b.emit1(*find_op("add"), {x, y})});
  return b.finish();
}

TEST(Verify, AcceptsASoundGraph) { EXPECT_NO_THROW(verify(sound())); }

TEST(Verify, RefusesBrokenOnes) {
  struct Case {
    const char* text;
    std::function<void(Graph&)> change;
  };
  const Case cases[] = {
      {"uses value 2 before it is made", [](Graph& g) { g.nodes[0].operands = {2}; }},
      {"uses value 9 before it is made", [](Graph& g) { g.nodes[0].operands = {9}; }},
      {"uses value -1 before it is made", [](Graph& g) { g.nodes[0].operands = {-1}; }},
      {"has no op", [](Graph& g) { g.nodes[0].op = nullptr; }},
      {"is no primitive", [](Graph& g) { g.nodes[0].op = find_op("mean"); }},
      {"has 1 operands", [](Graph& g) { g.nodes[1].operands = {0}; }},
      {"the shape rule gives float32[4,2]",
       [](Graph& g) {
         g.values[1].type.shape = {2, 4};
       }},
      {"is refused by its shape rule", [](Graph& g) { g.values[0].type.dtype = DType::kInt32; }},
      {"which is made already", [](Graph& g) { g.nodes[1].results = {1}; }},
      {"has 0 results", [](Graph& g) { g.nodes[1].results = {}; }},
      {"says that node 7 makes it", [](Graph& g) { g.values[2].producer = 7; }},
      {"a result names value 5, of 3", [](Graph& g) { g.results = {5}; }},
      {"parameter 0 is made by node 0", [](Graph& g) { g.values[0].producer = 0; }},
  };
  for (const Case& each : cases) {
    Graph graph = sound();
    each.change(graph);
    try {
      verify(graph);
      ADD_FAILURE() << "accepted: " << each.text;
    } catch (const InternalError& error) { EXPECT_NE(std::string(error.what()).find(each.text), std::string::npos) << error.what(); }
  }
}

}  // namespace
}  // namespace shardlab
