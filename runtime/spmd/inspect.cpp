#include "runtime/spmd/inspect.h"

#include "runtime/graph/inspection.h"
#include "runtime/spmd/region.h"

namespace shardlab::spmd {
namespace {

Sharding sharding_of(const ValueSharding& value, int rank, const Mesh& mesh) {
  Spec spec;
  spec.resize(std::size_t(rank));
  for (std::size_t d = 0; value && d < spec.size(); ++d) spec[d] = (*value)[d].axes;
  return {mesh, spec};
}

void run_in(const Propagation& found, const Mesh& mesh) {
  const Graph& graph = found.graph;
  auto of = [&](const std::vector<ValueId>& ids) {
    std::vector<ValueSharding> values;
    for (ValueId id : ids) values.push_back(found.values[std::size_t(id)]);
    return values;
  };
  for (const Node& node : graph.nodes) {
    if (const InspectCallback* callback = inspection_of(node)) {
      const ValueId id = node.operands[0];
      (*callback)(sharding_of(found.values[std::size_t(id)], graph.type(id).rank(), mesh));
    }
    if (node.op->region == RegionKind::kManual)
      run_inspections(*node.attrs.bodies().at(0), mesh);
    else
      for (std::size_t b = 0; b < node.attrs.bodies().size(); ++b)
        if (has_inspections(*node.attrs.bodies()[b]))
          run_in(propagate_body(graph, node, b, mesh, {of(node.operands), of(node.results)}), mesh);
  }
}

}  // namespace

void run_inspections(const PropagationInput& input) {
  if (has_inspections(*input.graph)) run_in(propagate(input), input.mesh);
}

void run_inspections(const Graph& per_device, const Mesh& mesh) {
  visit_nodes(per_device, [&](const Node& node) {
    const InspectCallback* callback = inspection_of(node);
    if (callback != nullptr) (*callback)(Sharding(mesh, Spec{}));
  });
}

}  // namespace shardlab::spmd
