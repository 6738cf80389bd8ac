#include "runtime/graph/known_numbers.h"

#include <algorithm>

namespace shardlab {

std::vector<bool> known_numbers(const Graph& graph) {
  std::vector<bool> known(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.results.size() != 1 || graph.type(node.results[0]).rank() > 0) continue;
    const bool is_computed = node.op->elementwise && !node.op->is_constraint && !node.op->member && !node.op->uses_position &&
                             node.op->collective.empty() && !node.operands.empty();
    known[std::size_t(node.results[0])] =
        node.op->constant ||
        (is_computed && std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return known[std::size_t(id)]; }));
  }
  return known;
}

}  // namespace shardlab
