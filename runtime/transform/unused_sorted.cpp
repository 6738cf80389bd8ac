#include "runtime/transform/unused_sorted.h"

#include <algorithm>

#include "runtime/base/selected.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

std::vector<bool> used_values(const Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Node& node : graph.nodes)
    for (ValueId id : node.operands) used[std::size_t(id)] = true;
  for (ValueId id : graph.results) used[std::size_t(id)] = true;
  return used;
}

}  // namespace

Graph without_unused_sorted(const Graph& graph) {
  const std::vector<bool> used = used_values(graph);
  auto kept_of = [&](const Node& node) {
    const std::size_t keys = std::size_t(node.attrs.integer("num_keys", 1));
    std::vector<bool> kept;
    for (std::size_t i = 0; i < node.results.size(); ++i) kept.push_back(i < keys || used[std::size_t(node.results[i])]);
    return kept;
  };
  auto sorts_unused = [&](const Node& node) {
    if (node.op != &ops::kSort) return false;
    const std::vector<bool> kept = kept_of(node);
    return std::find(kept.begin(), kept.end(), false) != kept.end();
  };
  return with_results_replaced(graph, sorts_unused, [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
    const std::vector<bool> kept = kept_of(node);
    const std::vector<ValueId> sorted = b.emit(*node.op, selected(renamed.of(node.operands), kept), node.attrs);
    std::vector<ValueId> results(kept.size(), kZero);
    std::size_t next = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i]) results[i] = sorted[next++];
    return results;
  });
}

}  // namespace shardlab::transform
