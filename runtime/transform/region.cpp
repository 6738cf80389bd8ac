#include "runtime/transform/region.h"

#include <algorithm>

namespace shardlab::transform {

LoopParts loop_parts(const Node& node) {
  LoopParts parts;
  parts.consts = std::size_t(node.attrs.integer("num_consts", 0));
  parts.carried =
      node.op->region == RegionKind::kWhile ? node.operands.size() - parts.consts : std::size_t(node.attrs.integer("num_carry", 0));
  return parts;
}

Attrs with_parts(const Node& node, std::size_t consts, std::size_t carried) {
  Attrs attrs = node.attrs;
  attrs.set("num_consts", std::int64_t(consts));
  if (node.op->region == RegionKind::kScan) attrs.set("num_carry", std::int64_t(carried));
  return attrs;
}

GraphRef body_ref(Graph body) { return std::make_shared<const Graph>(without_dead_nodes(body)); }

Graph reordered(Graph graph, const std::vector<std::size_t>& order) {
  std::vector<ValueId> params;
  for (std::size_t i : order) params.push_back(graph.params.at(i));
  SL_CHECK(params.size() == graph.params.size(), "{} parameters in an order of {}", graph.params.size(), params.size());
  graph.params = std::move(params);
  for (std::size_t i = 0; i < graph.params.size(); ++i) graph.values[std::size_t(graph.params[i])].result_index = int(i);
  return graph;
}

const Mesh& mesh_of(const Node& node) {
  const std::vector<Sharding>& in = node.attrs.shardings("in_specs");
  return in.empty() ? node.attrs.shardings("out_specs").at(0).mesh() : in[0].mesh();
}

std::vector<bool> is_automatic(const Node& node, const Mesh& mesh) {
  std::vector<bool> automatic(std::size_t(mesh.axis_count()), false);
  if (!node.attrs.has("axis_names")) return automatic;
  const auto& manual = node.attrs.strings("axis_names");
  for (std::size_t a = 0; a < automatic.size(); ++a)
    automatic[a] = std::find(manual.begin(), manual.end(), mesh.axis_names()[a]) == manual.end();
  return automatic;
}

bool leaves_explicit_axes(const Node& code, const std::vector<std::string>& manual_around) {
  const Mesh& mesh = mesh_of(code);
  const std::vector<bool> automatic = is_automatic(code, mesh);
  for (std::size_t axis = 0; axis < automatic.size(); ++axis) {
    const bool is_manual_around = std::find(manual_around.begin(), manual_around.end(), mesh.axis_names()[axis]) != manual_around.end();
    if (automatic[axis] && !is_manual_around && mesh.axis_types()[axis] == AxisType::kExplicit) return true;
  }
  return false;
}

Sharding with_leading(const Sharding& sharding, int rank, const Axes& axes) {
  Spec spec = sharding.spec(rank);
  spec.insert(spec.begin(), axes);
  return {sharding.mesh(), std::move(spec)};
}

}  // namespace shardlab::transform
