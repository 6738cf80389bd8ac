#include "runtime/graph/known_numbers.h"

#include <gtest/gtest.h>

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

TEST(KnownNumbers, AreMadeOfConstantsAlone) {
  const Graph graph = parse_graph(
      "f(%0: float32[], %1: float32[2]) {\n%2 = constant() {value = float32[]{3}} : float32[]\n%3 = mul(%2, %2) : float32[]\n"
      "%4 = mul(%3, %0) : float32[]\n%5 = broadcast_in_dim(%3) {dims = [], shape = [2]} : float32[2]\n%6 = add(%5, %1) : float32[2]\n"
      "return %4, %6\n}\n",
      find_op);
  EXPECT_EQ(known_numbers(graph), (std::vector<bool>{false, false, true, true, false, false, false}));
}

}  // namespace
}  // namespace shardlab
