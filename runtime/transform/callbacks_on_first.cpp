#include "runtime/transform/callbacks_on_first.h"

#include "runtime/graph/host_callback.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

std::vector<ValueId> on_first(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const Mesh& mesh) {
  GraphBuilder code(std::string(node.op->name));
  code.set_place_of(node);
  std::vector<ValueId> params;
  for (ValueId id : operands) params.push_back(code.param(b.type(id)));
  Attrs attrs = node.attrs;
  std::vector<ValueId> results = code.emit(*node.op, params, attrs.set("first", true));
  const std::size_t read = results.size() - std::size_t(node.attrs.flag("effect"));
  const Attrs all{{"axis_name", mesh.axis_names()}, {"axis_size", std::int64_t(mesh.size())}, {"source", std::int64_t(0)}};
  for (std::size_t i = 0; i < read; ++i) results[i] = code.emit1(ops::kPbroadcast, {results[i]}, all);
  code.set_results(results);
  const std::vector<Sharding> in(operands.size(), Sharding(mesh, Spec{})), out(results.size(), Sharding(mesh, Spec{}));
  return b.emit(ops::kShardMap, operands,
                Attrs{{"bodies", Bodies{std::make_shared<const Graph>(code.finish())}},
                      {"in_specs", in},
                      {"out_specs", out},
                      {"axis_names", mesh.axis_names()}});
}

bool is_shared(const Node& node) { return node.op->region == RegionKind::kNone && callback_of(node) && !node.attrs.flag("partitioned"); }

}  // namespace

Graph with_callbacks_on_first(const Graph& graph, const Mesh& mesh) {
  if (!has_callbacks(graph)) return graph;
  GraphBuilder b(graph.name);
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (Node node : graph.nodes) {
    b.set_place_of(node);
    if (is_shared(node)) {
      const std::vector<ValueId> results = on_first(b, node, renamed.of(node.operands), mesh);
      for (std::size_t i = 0; i < results.size(); ++i) renamed[node.results[i]] = results[i];
      continue;
    }
    const bool is_shared_code = node.op->region != RegionKind::kManual && node.op->region != RegionKind::kCall;
    if (is_shared_code && !node.attrs.bodies().empty()) {
      Bodies bodies;
      for (const GraphRef& body : node.attrs.bodies())
        bodies.push_back(std::make_shared<const Graph>(with_callbacks_on_first(*body, mesh)));
      node.attrs.set("bodies", bodies);
    }
    emit_node(b, node, renamed);
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  return b.finish();
}

}  // namespace shardlab::transform
