#include "runtime/spmd/split_code.h"

#include <algorithm>
#include <map>

#include "runtime/spmd/code_part.h"
#include "runtime/spmd/invariants.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

// Of per-device code.
Invariants invariants_of(const Code& code, const std::vector<bool>& varying_params) {
  const Graph& graph = code.graph();
  Invariants found = invariants(graph, varying_params);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) found.is_work[n] = found.is_work[n] && !code.is_of_place(graph.nodes[n]);
  return found;
}

// Whether it is worth a node of its own.
bool has_work(const Code& code, const Invariants& found) {
  const Graph& graph = code.graph();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!found.is_work[n]) continue;
    if (communicates(node) || (!code.is_scalar_step(node) && (code.is_partial() || !only_moves_data(graph, node)))) return true;
  }
  return false;
}

// Both nodes in place of the one.
void copy_split(const Code& code, const Invariants& found, PropagationCopy& copy, BodyPropagations& bodies) {
  const Graph& graph = code.graph();
  const std::vector<bool> nothing(graph.values.size(), false);
  std::vector<bool> is_made_first = nothing, wanted_first = nothing, wanted_second = code.needed_by_effects();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId id : graph.nodes[n].results) is_made_first[std::size_t(id)] = found.is_work[n];
  CodePart first{.has_effects = false}, second;
  for (ValueId id : graph.results) {
    const bool varies = found.varies[std::size_t(id)];
    (varies ? wanted_second : wanted_first)[std::size_t(id)] = true;
    first.results.push_back(!varies);
    second.results.push_back(varies);
  }
  second.needed = code.needed_for(wanted_second, is_made_first);
  for (ValueId id = 0; id < ValueId(graph.values.size()); ++id)
    if (second.needed[std::size_t(id)] && is_made_first[std::size_t(id)]) first.handed.push_back(id);
  for (ValueId id : first.handed) wanted_first[std::size_t(id)] = true;
  first.needed = code.needed_for(wanted_first, nothing);
  const std::vector<ValueId> names = code.add(copy, bodies, first);
  for (std::size_t i = 0; i < names.size(); ++i) second.taken.push_back({first.handed[i], names[i]});
  code.add(copy, bodies, second);
}

bool is_code(const Node& node) { return node.op->region == RegionKind::kManual; }

std::vector<bool> varying_operands(const Node& node, const Invariants& around) {
  std::vector<bool> varying;
  for (ValueId id : node.operands) varying.push_back(around.varies[std::size_t(id)]);
  return varying;
}

std::optional<BodyPropagation> split_all(const BodyPropagation& body, const std::vector<bool>& varying_params, const Mesh& mesh);

// The body with code parted that stands in its code.
std::optional<BodyPropagation> with_inner_code_split(const BodyPropagation& body, const std::vector<bool>& varying_params,
                                                     const Mesh& mesh) {
  const Invariants around = invariants(body.graph, varying_params);
  std::optional<BodyPropagation> changed;
  for (const auto& [n, inner] : body.bodies) {
    const Node& node = body.graph.nodes[std::size_t(n)];
    if (!is_code(node) || around.is_work[std::size_t(n)]) continue;
    std::optional<BodyPropagation> now = split_all(inner->at(0), varying_operands(node, around), mesh);
    if (!now) continue;
    if (!changed) changed = body;
    changed->graph.nodes[std::size_t(n)].attrs.set("bodies", Bodies{std::make_shared<const Graph>(now->graph)});
    changed->bodies[n] = std::make_shared<const std::vector<BodyPropagation>>(1, *std::move(now));
  }
  return changed;
}

std::optional<BodyPropagation> split(const BodyPropagation& body, const std::vector<bool>& varying_params, const Mesh& mesh) {
  const Graph& graph = body.graph;
  const Invariants around = invariants(graph, varying_params);
  std::map<NodeId, std::pair<Code, Invariants>> parted;
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    if (!is_code(graph.nodes[std::size_t(n)]) || around.is_work[std::size_t(n)]) continue;
    const Code code(graph, body.values, body.bodies, n, mesh);
    Invariants found = invariants_of(code, varying_operands(graph.nodes[std::size_t(n)], around));
    if (code.can_hand_over() && has_work(code, found)) parted.emplace(n, std::pair(code, std::move(found)));
  }
  if (parted.empty()) return std::nullopt;
  PropagationCopy copy(graph, body.values, body.origins);
  BodyPropagations bodies;
  for (ValueId id : graph.params) copy.copy_param(id);
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    if (auto each = parted.find(n); each != parted.end()) {
      copy_split(each->second.first, each->second.second, copy, bodies);
      continue;
    }
    copy.copy_node(n, graph.nodes[std::size_t(n)]);
    if (auto inner = body.bodies.find(n); inner != body.bodies.end()) bodies[copy.node_now(n)] = inner->second;
  }
  for (ValueId id : graph.results) copy.graph.results.push_back(copy.now(id));
  return copy.as_body(std::move(bodies));
}

// Innermost code first: what leaves it, the code around it may hand on.
std::optional<BodyPropagation> split_all(const BodyPropagation& body, const std::vector<bool>& varying_params, const Mesh& mesh) {
  if (std::none_of(body.graph.nodes.begin(), body.graph.nodes.end(), is_code)) return std::nullopt;
  std::optional<BodyPropagation> inner = with_inner_code_split(body, varying_params, mesh);
  std::optional<BodyPropagation> outer = split(inner ? *inner : body, varying_params, mesh);
  return outer ? std::move(outer) : std::move(inner);
}

}  // namespace

std::optional<BodyPropagation> with_code_split(const BodyPropagation& body, std::size_t consts, const Mesh& mesh) {
  std::vector<bool> varying_params(body.graph.params.size(), true);
  std::fill_n(varying_params.begin(), consts, false);
  return split_all(body, varying_params, mesh);
}

}  // namespace shardlab::spmd
