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

void run_inspections_in(const Graph& graph, const std::vector<ValueSharding>& values, const BodyPropagations& bodies, const Mesh& mesh);

// A function whose sharding its user says takes and gives its values as they lie around it.
void run_in_call(const Node& node, const std::vector<ValueSharding>& values, const Mesh& mesh) {
  for (const GraphRef& body : node.attrs.bodies()) {
    if (!has_inspections(*body)) continue;
    PropagationInput input{body.get(), mesh, {}, {}};
    input.params.resize(body->params.size());
    input.results.resize(body->results.size());
    for (ValueId id : node.operands) input.open_params.push_back(values[std::size_t(id)]);
    for (ValueId id : node.results) input.open_results.push_back(values[std::size_t(id)]);
    const Propagation found = propagate(input);
    run_inspections_in(found.graph, found.values, found.bodies, mesh);
  }
}

void run_inspections_in(const Graph& graph, const std::vector<ValueSharding>& values, const BodyPropagations& bodies, const Mesh& mesh) {
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[std::size_t(n)];
    if (const InspectCallback* callback = inspection_of(node)) {
      const ValueId id = node.operands[0];
      (*callback)(sharding_of(values[std::size_t(id)], graph.type(id).rank(), mesh));
    }
    if (node.op->region == RegionKind::kManual)
      run_inspections(*node.attrs.bodies().at(0), mesh);
    else if (auto found = bodies.find(n); found != bodies.end())
      for (const BodyPropagation& body : *found->second) run_inspections_in(body.graph, body.values, body.bodies, mesh);
    else if (node.op->region == RegionKind::kCall)
      run_in_call(node, values, mesh);
  }
}

}  // namespace

void run_inspections(const PropagationInput& input) {
  if (!has_inspections(*input.graph)) return;
  const Propagation found = propagate(input);
  run_inspections_in(found.graph, found.values, found.bodies, input.mesh);
}

void run_inspections(const Graph& per_device, const Mesh& mesh) {
  visit_nodes(per_device, [&](const Node& node) {
    const InspectCallback* callback = inspection_of(node);
    if (callback != nullptr) (*callback)(Sharding(mesh, Spec{}));
  });
}

}  // namespace shardlab::spmd
