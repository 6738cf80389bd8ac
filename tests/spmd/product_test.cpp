// Products cost a device no more arithmetic than XLA's, wherever their operands lie, and move no more.
#include <gtest/gtest.h>

#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/product.h"
#include "runtime/spmd/work.h"
#include "tests/spmd/graphs.h"
#include "tests/spmd/simulator.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;

// matmul, and what JAX's compiled module multiplies on a device and moves in all.
struct Product {
  Shape mesh;
  Shape lhs_shape, rhs_shape;
  std::string_view lhs, rhs;
  std::int64_t work, wire_bytes;
};

class Products : public ::testing::TestWithParam<Product> {
 protected:
  PartitionedProgram planned() const {
    const Product& each = GetParam();
    Build build;
    ValueId x = build.param(each.lhs_shape), y = build.param(each.rhs_shape);
    Graph graph = build.finish({build.op("matmul", {x, y})});
    return plan(graph, mesh_of(each.mesh), {each.lhs, each.rhs});
  }
};

TEST_P(Products, CostNoMoreThanXlas) {
  const Product& each = GetParam();
  PartitionedProgram program = planned();
  EXPECT_LE(work_per_device(program), each.work) << print(program);
  EXPECT_LE(program.wire_bytes, each.wire_bytes) << print(program);
}

TEST_P(Products, AreCutIntoXlasParts) {
  const Product& each = GetParam();
  PartitionedProgram program = planned();
  const Node& node = program.graph.nodes[0];
  const FactorRule rule = rule_of(program.graph, node);
  std::vector<Spec> forms;
  std::vector<Shape> shapes;
  for (const auto* ids : {&node.operands, &node.results})
    for (ValueId id : *ids) {
      forms.push_back(program.propagated[std::size_t(id)]);
      shapes.push_back(program.graph.type(id).shape);
    }
  const auto parts = parts_of_product({rule, cuttable_factors(*node.op, rule), {}}, shapes, forms, AtomTable(mesh_of(each.mesh)).atoms());
  ASSERT_TRUE(parts);
  std::int64_t work = 1;
  for (std::size_t f = 0; f < parts->size(); ++f) work *= (rule.factors[f].size + (*parts)[f] - 1) / (*parts)[f];
  EXPECT_EQ(work, each.work);
}

INSTANTIATE_TEST_SUITE_P(
    OfJax, Products,
    ::testing::Values(
        // Its own cut cuts the result, too: summed over the idle axes …
        Product{{2, 2, 2}, {8, 24}, {24, 8}, "c-", "c-", 192, 2688}, Product{{2, 2, 2}, {32, 32}, {32, 32}, "a-", "a-", 4096, 30720},
        Product{{2, 4}, {8, 8}, {8, 8}, "-a", "-a", 64, 1920}, Product{{4, 2}, {24, 24}, {24, 32}, "-b", "-b", 2304, 21888},
        // … but not over fewer, nor where the result is as large as what would be gathered.
        Product{{2, 4}, {24, 24}, {24, 24}, "b-", "b-", 3456, 13824}, Product{{4, 2}, {32, 16}, {16, 32}, "-a", "-a", 4096, 12288},
        Product{{4, 2}, {16, 8}, {8, 32}, "-b", "-b", 2048, 3840},
        // Both of them at once.
        Product{{2, 2, 2}, {32, 24}, {24, 32}, "ca", "ca", 3072, 14336},
        // As many parts along other axes, or not as many.
        Product{{2, 2, 2}, {32, 8}, {8, 32}, "-a", "bc", 2048, 17408}, Product{{4, 2}, {16, 16}, {16, 24}, "-a", "(ba)-", 6144, 16896},
        // Cut in one operand alone, with no axis idle, and with one.
        Product{{4, 2}, {24, 8}, {8, 32}, "a-", "b-", 768, 6144}, Product{{2, 4}, {16, 32}, {32, 24}, "ba", "--", 1536, 3072},
        Product{{2, 4}, {32, 24}, {24, 16}, "--", "ab", 3072, 1536}, Product{{2, 2, 2}, {8, 32}, {32, 16}, "ca", "--", 2048, 2048},
        // What cannot be grouped as the result is follows the other operand along the contraction.
        Product{{2, 4}, {16, 8}, {8, 32}, "(ba)-", "ab", 512, 7680},
        // Batches that lie crosswise are one within the groups along the contraction.
        Product{{2, 2, 2}, {16, 8, 8, 2}, {16, 8, 2, 8}, "ac-b", "cba-", 2048, 268288}));

}  // namespace
}  // namespace shardlab::spmd
