#include "runtime/spmd/invariants.h"

#include <algorithm>

#include "runtime/graph/host_callback.h"
#include "runtime/spmd/prepare.h"

namespace shardlab::spmd {
namespace {

// Whether it could as well be done once: per-device code as a whole, too, and its collectives, since who comes to the loop comes to these.
// A while loop may not end.
bool is_movable(const Node& node) {
  if (node.results.empty() || has_effects(node)) return false;
  const RegionKind kind = node.op->region;
  if (kind != RegionKind::kNone && kind != RegionKind::kScan && kind != RegionKind::kBranch && kind != RegionKind::kManual) return false;
  const Bodies& bodies = node.attrs.bodies();
  return std::all_of(bodies.begin(), bodies.end(),
                     [](const GraphRef& body) { return std::all_of(body->nodes.begin(), body->nodes.end(), is_movable); });
}

}  // namespace

Invariants invariants(const Graph& graph, const std::vector<bool>& varying_params) {
  const std::vector<bool> constant = constant_expressions(graph);
  Invariants found{std::vector<bool>(graph.values.size(), false), {}};
  for (std::size_t i = 0; i < varying_params.size(); ++i) found.varies[std::size_t(graph.params[i])] = varying_params[i];
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool stays = !is_movable(node) ||
                       std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return found.varies[std::size_t(id)]; });
    for (ValueId id : node.results) found.varies[std::size_t(id)] = stays;
    found.is_work.push_back(!stays && !constant[n] && !is_scalar_broadcast(graph, node));
  }
  return found;
}

Invariants invariants(const Graph& body, std::size_t consts) {
  std::vector<bool> varying_params(body.params.size(), true);
  std::fill_n(varying_params.begin(), consts, false);
  return invariants(body, varying_params);
}

}  // namespace shardlab::spmd
