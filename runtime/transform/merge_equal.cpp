#include "runtime/transform/merge_equal.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/graph/host_callback.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

// Per-device code, where a value is what it is on each device.
Graph merged(const Graph& code) {
  Graph graph = code;
  std::vector<ValueId> same(graph.values.size());
  std::iota(same.begin(), same.end(), 0);
  auto rename = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) id = same[std::size_t(id)];
  };
  std::multimap<std::pair<const OpDef*, std::vector<ValueId>>, const Node*> seen;
  for (Node& node : graph.nodes) {
    rename(node.operands);
    if (!node.attrs.bodies().empty()) node.attrs = with_changed_bodies(node, merged);
    if (has_effects(node) || !node.attrs.bodies().empty()) continue;
    auto [first, last] = seen.equal_range({node.op, node.operands});
    auto equal = std::find_if(first, last, [&](const auto& each) { return each.second->attrs == node.attrs; });
    if (equal == last) {
      seen.emplace(std::pair(node.op, node.operands), &node);
      continue;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) same[std::size_t(node.results[i])] = equal->second->results[i];
  }
  rename(graph.results);
  return without_dead_nodes(graph);
}

}  // namespace

Graph with_equal_merged(const Graph& graph) {
  if (std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.attrs.bodies().empty(); })) return graph;
  Graph changed = graph;
  for (Node& node : changed.nodes)
    if (!node.attrs.bodies().empty())
      node.attrs = with_changed_bodies(node, node.op->region == RegionKind::kManual ? merged : with_equal_merged);
  return changed;
}

}  // namespace shardlab::transform
