#include "runtime/graph/inspection.h"

#include <atomic>

#include "runtime/graph/carried.h"
#include "runtime/graph/partition_callback.h"

namespace shardlab {
namespace {

GraphRef without_inspections(const GraphRef& body) {
  if (!has_inspections(*body)) return body;
  Graph stripped = without_inspections(*body);
  if (const PartitionCallback* partition = partition_of(body)) return with_partition(std::move(stripped), *partition);
  return std::make_shared<const Graph>(std::move(stripped));
}

}  // namespace

Attrs inspection_attrs(InspectCallback callback) {
  static std::atomic<std::int64_t> next = 0;
  return attrs_carrying(std::move(callback), {next++});
}

const InspectCallback* inspection_of(const Node& node) { return node.results.empty() ? carried_by<InspectCallback>(node.attrs) : nullptr; }

bool has_inspections(const Graph& graph) {
  bool found = false;
  visit_nodes(graph, [&](const Node& node) { found = found || inspection_of(node) != nullptr; });
  return found;
}

Graph without_inspections(const Graph& graph) {
  Graph rest = graph;
  rest.nodes.clear();
  for (const Node& node : graph.nodes) {
    if (inspection_of(node) != nullptr) continue;
    for (ValueId id : node.results) rest.values[std::size_t(id)].producer = NodeId(rest.nodes.size());
    rest.nodes.push_back(node);
    if (node.attrs.bodies().empty()) continue;
    Bodies bodies;
    for (const GraphRef& body : node.attrs.bodies()) bodies.push_back(without_inspections(body));
    rest.nodes.back().attrs.set("bodies", std::move(bodies));
  }
  return without_dead_nodes(rest);
}

}  // namespace shardlab
