#include "runtime/transform/whole_updates.h"

#include <algorithm>

#include "runtime/ops/primitives.h"
#include "runtime/transform/fold_integers.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {

Graph without_whole_updates(const Graph& graph) {
  auto is_whole_update = [&](const Node& node) {
    return node.op == &ops::kDynamicUpdateSlice && !node.attrs.flag("of_batch") &&
           graph.type(node.operands[0]) == graph.type(node.operands[1]) &&
           std::all_of(node.operands.begin() + 2, node.operands.end(), [&](ValueId start) { return is_filled_with(graph, start, 0); });
  };
  auto is_whole_slice = [&](const Node& node) {
    return node.op == &ops::kSlice && graph.type(node.operands[0]) == graph.type(node.results[0]);
  };
  return with_replaced(
      graph, [&](const Node& node) { return is_whole_update(node) || is_whole_slice(node); },
      [](GraphBuilder&, const Node& node, const Renaming& renamed) { return renamed[node.operands[node.op == &ops::kSlice ? 0 : 1]]; });
}

}  // namespace shardlab::transform
