#include "runtime/exec/whole_slices.h"

#include <algorithm>

#include "runtime/ops/primitives.h"

namespace shardlab {
namespace {

bool replace_in(Graph& graph, spmd::BodyPropagations& bodies) {
  bool has_changed = false;
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    Node& node = graph.nodes[std::size_t(n)];
    if (node.op == &ops::kDynamicSlice && graph.type(node.operands[0]) == graph.type(node.results[0])) {
      node.op = &ops::kReshape;
      node.operands.resize(1);
      node.attrs = Attrs{{"shape", graph.type(node.results[0]).shape}};
      has_changed = true;
    }
    const auto found = bodies.find(n);
    if (found == bodies.end()) continue;
    std::vector<spmd::BodyPropagation> inner = *found->second;
    bool has_inner_changed = false;
    Bodies graphs;
    for (spmd::BodyPropagation& body : inner) {
      has_inner_changed |= replace_in(body.graph, body.bodies);
      graphs.push_back(std::make_shared<const Graph>(body.graph));
    }
    if (!has_inner_changed) continue;
    node.attrs.set("bodies", graphs);
    found->second = std::make_shared<const std::vector<spmd::BodyPropagation>>(std::move(inner));
    has_changed = true;
  }
  return has_changed;
}

}  // namespace

void replace_whole_slices(spmd::Propagation& propagation) { replace_in(propagation.graph, propagation.bodies); }

}  // namespace shardlab
