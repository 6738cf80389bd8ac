#include "runtime/transform/varying.h"

#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/region.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

bool is_loop(const Node& node) { return node.op->region == RegionKind::kWhile || node.op->region == RegionKind::kScan; }

// Adds the axes of `more` to those of `into` from `first` on; whether any was new.
bool join(std::vector<VaryingAxes>& into, std::size_t first, const std::vector<VaryingAxes>& more, std::size_t count) {
  bool grew = false;
  for (std::size_t i = 0; i < count; ++i) {
    grew |= (more[i] & ~into[first + i]) != 0;
    into[first + i] |= more[i];
  }
  return grew;
}

// What one iteration gives.
std::vector<VaryingAxes> of_iteration(const Node& node, const std::vector<VaryingAxes>& operands, const Mesh& mesh) {
  const Bodies& bodies = node.attrs.bodies();
  std::vector<VaryingAxes> results = Varying(*bodies.back(), operands, mesh).results();
  if (node.op->region == RegionKind::kWhile)
    for (VaryingAxes& each : results) each |= Varying(*bodies[0], operands, mesh).results().at(0);
  return results;
}

}  // namespace

VaryingAxes axes_in(const std::vector<std::string>& names, const Mesh& mesh) {
  VaryingAxes axes = 0;
  for (const std::string& name : names)
    if (auto axis = mesh.axis_index(name)) axes |= VaryingAxes(1) << *axis;
  return axes;
}

VaryingAxes axes_in(const Sharding& sharding, int rank) {
  VaryingAxes axes = 0;
  for (const Axes& dimension : sharding.spec(rank))
    for (const AxisPiece& piece : dimension) axes |= VaryingAxes(1) << piece.axis;
  return axes;
}

std::vector<VaryingAxes> varying_params(const Graph& body, const std::vector<Sharding>& in_specs) {
  std::vector<VaryingAxes> params;
  for (std::size_t i = 0; i < in_specs.size(); ++i) params.push_back(axes_in(in_specs[i], body.type(body.params[i]).rank()));
  return params;
}

Varying::Varying(const Graph& graph, const std::vector<VaryingAxes>& params, const Mesh& mesh)
    : graph_(graph), mesh_(mesh), varying_(graph.values.size(), 0) {
  for (std::size_t i = 0; i < graph.params.size(); ++i) varying_[std::size_t(graph.params[i])] = params.at(i);
  for (const Node& node : graph.nodes) {
    const std::vector<VaryingAxes> results = of_node(node);
    for (std::size_t i = 0; i < results.size(); ++i) varying_[std::size_t(node.results[i])] = results[i];
  }
}

std::vector<VaryingAxes> Varying::results() const {
  std::vector<VaryingAxes> all;
  for (ValueId id : graph_.results) all.push_back(at(id));
  return all;
}

std::vector<VaryingAxes> Varying::params_of_bodies(const Node& node) const {
  std::vector<VaryingAxes> params;
  for (ValueId id : node.operands) params.push_back(at(id));
  if (node.op->region == RegionKind::kBranch) params.erase(params.begin());
  if (!is_loop(node)) return params;
  const LoopParts parts = loop_parts(node);
  while (join(params, parts.consts, of_iteration(node, params, mesh_), parts.carried)) {  // axes are only added: it ends
  }
  return params;
}

std::vector<VaryingAxes> Varying::of_node(const Node& node) const {
  if (node.op->region != RegionKind::kNone) return of_region(node);
  VaryingAxes all = 0;
  for (ValueId id : node.operands) all |= at(id);
  if (node.op->member) {
    const VaryingAxes named = axes_in(node.attrs.strings("axis_name"), mesh_);
    const bool replicates = node.op->collective == "all-reduce" && !node.attrs.has("axis_index_groups");
    all = replicates ? all & ~named : all | named;
  }
  return std::vector<VaryingAxes>(node.results.size(), all);
}

std::vector<VaryingAxes> Varying::of_region(const Node& node) const {
  const std::vector<VaryingAxes> params = params_of_bodies(node);
  if (is_loop(node)) {
    std::vector<VaryingAxes> results = of_iteration(node, params, mesh_);
    const LoopParts parts = loop_parts(node);
    join(results, 0, std::vector<VaryingAxes>(params.begin() + std::ptrdiff_t(parts.consts), params.end()), parts.carried);
    return results;
  }
  if (node.op->region != RegionKind::kBranch) return Varying(*node.attrs.bodies()[0], params, mesh_).results();
  std::vector<VaryingAxes> results(node.results.size(), at(node.operands[0]));
  for (const GraphRef& body : node.attrs.bodies()) join(results, 0, Varying(*body, params, mesh_).results(), results.size());
  return results;
}

namespace {

bool has_sums(const Graph& graph) {
  bool found = false;
  visit_nodes(graph, [&](const Node& node) { found |= node.op == &ops::kPsum; });
  return found;
}

// A sum over the axes along which its operand varies, times the number of devices along the others.
ValueId sum_of(GraphBuilder& b, const Node& node, ValueId operand, VaryingAxes varies, const Mesh& mesh) {
  std::vector<std::string> summed;
  std::int64_t equals = 1;
  for (const std::string& name : node.attrs.strings("axis_name")) {
    const auto axis = mesh.axis_index(name);
    if (axis && (varies >> *axis & 1) == 0)
      equals *= mesh.shape()[std::size_t(*axis)];
    else
      summed.push_back(name);
  }
  if (equals == 1) return b.emit1(*node.op, {operand}, node.attrs);
  Attrs attrs = node.attrs;
  attrs.set("axis_name", summed).set("axis_size", node.attrs.integer("axis_size") / equals);
  const ValueId sum = summed.empty() ? operand : b.emit1(*node.op, {operand}, attrs);
  return ops::binary(b, ops::kMul, sum, double(equals));
}

}  // namespace

Graph without_sums_of_equals(const Graph& body, const std::vector<VaryingAxes>& params, const Mesh& mesh) {
  if (!has_sums(body)) return body;
  const Varying varying(body, params, mesh);
  GraphBuilder b(body.name, config_for(body));
  Renaming renamed(body);
  for (ValueId id : body.params) renamed[id] = b.param(body.type(id));
  for (Node node : body.nodes) {
    if (node.op == &ops::kPsum && !node.attrs.has("axis_index_groups")) {
      b.set_place_of(node);
      renamed[node.results[0]] = sum_of(b, node, renamed[node.operands[0]], varying.at(node.operands[0]), mesh);
      continue;
    }
    if (is_loop(node) || node.op->region == RegionKind::kBranch) {
      const std::vector<VaryingAxes> inner = varying.params_of_bodies(node);
      Bodies bodies;
      for (const GraphRef& each : node.attrs.bodies())
        bodies.push_back(std::make_shared<const Graph>(without_sums_of_equals(*each, inner, mesh)));
      node.attrs.set("bodies", bodies);
    }
    emit_node(b, node, renamed);
  }
  b.set_place({}, "");
  b.set_results(renamed.of(body.results));
  return b.finish();
}

}  // namespace shardlab::transform
