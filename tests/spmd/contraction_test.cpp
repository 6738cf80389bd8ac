// Products whose operands lie differently along the contraction cost a device no more arithmetic than XLA's, and move no more.
#include <gtest/gtest.h>

#include "runtime/spmd/contraction.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/work.h"
#include "tests/spmd/graphs.h"
#include "tests/spmd/simulator.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;

// matmul of [m, k] and [k, n], and what JAX's compiled module multiplies on a device and moves in all.
struct Product {
  Shape mesh;
  std::int64_t m, k, n;
  std::string_view lhs, rhs;
  std::int64_t parts;  // of the contraction
  std::int64_t work, wire_bytes;
};

class Contraction : public ::testing::TestWithParam<Product> {
 protected:
  PartitionedProgram planned() const {
    const Product& each = GetParam();
    Build build;
    ValueId x = build.param({each.m, each.k}), y = build.param({each.k, each.n});
    Graph graph = build.finish({build.op("matmul", {x, y})});
    return plan(graph, mesh_of(each.mesh), {each.lhs, each.rhs});
  }
};

TEST_P(Contraction, CostsNoMoreThanXlas) {
  const Product& each = GetParam();
  PartitionedProgram program = planned();
  EXPECT_LE(work_per_device(program), each.work) << print(program);
  EXPECT_LE(program.wire_bytes, each.wire_bytes) << print(program);
}

TEST_P(Contraction, IsCutIntoXlasParts) {
  const Product& each = GetParam();
  PartitionedProgram program = planned();
  const Node& node = program.graph.nodes[0];
  const FactorRule rule = rule_of(program.graph, node);
  std::vector<Spec> forms;
  for (const auto* ids : {&node.operands, &node.results})
    for (ValueId id : *ids) forms.push_back(program.propagated[std::size_t(id)]);
  EXPECT_EQ(parts_of_contraction({rule, cuttable_factors(*node.op, rule), {}}, forms, AtomTable(mesh_of(each.mesh)).atoms()), each.parts);
}

INSTANTIATE_TEST_SUITE_P(
    Products, Contraction,
    ::testing::Values(
        // Its own cut cuts the result, too: summed over the idle axes …
        Product{{2, 2, 2}, 8, 24, 8, "c-", "c-", 4, 192, 2688}, Product{{2, 2, 2}, 32, 32, 32, "a-", "a-", 4, 4096, 30720},
        Product{{2, 4}, 8, 8, 8, "-a", "-a", 4, 64, 1920}, Product{{4, 2}, 24, 24, 32, "-b", "-b", 4, 2304, 21888},
        // … but not over fewer, nor where the result is as large as what would be gathered.
        Product{{2, 4}, 24, 24, 24, "b-", "b-", 1, 3456, 13824}, Product{{4, 2}, 32, 16, 32, "-a", "-a", 1, 4096, 12288},
        Product{{4, 2}, 16, 8, 32, "-b", "-b", 1, 2048, 3840},
        // Both of them at once.
        Product{{2, 2, 2}, 32, 24, 32, "ca", "ca", 2, 3072, 14336},
        // As many parts along other axes, or not as many.
        Product{{2, 2, 2}, 32, 8, 32, "-a", "bc", 2, 2048, 17408}, Product{{4, 2}, 16, 16, 24, "-a", "(ba)-", 1, 6144, 16896},
        // Cut in one operand alone, with no axis idle, and with one.
        Product{{4, 2}, 24, 8, 32, "a-", "b-", 2, 768, 6144}, Product{{2, 4}, 16, 32, 24, "ba", "--", 2, 1536, 3072},
        Product{{2, 4}, 32, 24, 16, "--", "ab", 1, 3072, 1536}, Product{{2, 2, 2}, 8, 32, 16, "ca", "--", 1, 2048, 2048}));

}  // namespace
}  // namespace shardlab::spmd
