// Source: JAX's rules of scan and cond for partial evaluation under a policy.
#include "runtime/transform/saved_in_bodies.h"

#include <algorithm>
#include <deque>

#include "runtime/ops/derive.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

using Saves = std::function<bool(const Node&)>;

bool saves_any_in(const Node& node, const Saves& saves) {
  if (node.op->region != RegionKind::kScan && node.op->region != RegionKind::kBranch) return false;
  bool any = false;
  for (const GraphRef& body : node.attrs.bodies()) visit_nodes(*body, [&](const Node& inner) { any |= saves(inner); });
  return any;
}

// Which parameters of the node's bodies are unknown, of a scan in some turn. `unknown`: which operands are.
std::vector<bool> unknown_in_bodies(const Node& node, std::vector<bool> unknown) {
  if (node.op->region == RegionKind::kBranch) return {unknown.begin() + 1, unknown.end()};
  const LoopParts parts = loop_parts(node);
  for (bool grew = true; grew;) {
    const BodySplit split(*node.attrs.bodies()[0], unknown);
    grew = false;
    for (std::size_t i = 0; i < parts.carried; ++i) {
      if (!split.varies(i) || unknown[parts.consts + i]) continue;
      unknown[parts.consts + i] = true;
      grew = true;
    }
  }
  return unknown;
}

// A body with what is kept in it.
class KeptOfBody {
 public:
  KeptOfBody(const Graph& body, const std::vector<bool>& unknown, const Saves& saves) : inner_(save_in_bodies(body, unknown, saves)) {
    const Graph& graph = inner_.graph;
    const BodySplit split(graph, unknown);
    std::vector<bool> is_known(graph.nodes.size(), false);  // all that anybody needs of it may be kept
    for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
      const Node& node = graph.nodes[std::size_t(n)];
      const auto found = inner_.nodes.find(n);
      const bool has_kept = found != inner_.nodes.end();
      const bool varies = std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) { return split.varies_value(id); });
      is_known[std::size_t(n)] = !has_kept && saves(node) && !varies;
      const auto first = node.results.begin() + std::ptrdiff_t(has_kept ? found->second.own_results : 0);
      if (has_kept || is_known[std::size_t(n)]) candidates_.insert(candidates_.end(), first, node.results.end());
    }
    again_ = without_dead_nodes(without(is_known));
    // What nobody asks for where the rest is computed again is not kept.
    std::vector<bool> is_used(again_.values.size(), false);
    for (const Node& node : again_.nodes)
      for (ValueId id : node.operands) is_used[std::size_t(id)] = true;
    for (ValueId id : again_.results) is_used[std::size_t(id)] = true;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (is_used[std::size_t(again_.params[graph.params.size() + i])]) kept_.emplace_back(graph.type(candidates_[i]), candidates_[i]);
  }

  const std::vector<TypedValue>& kept() const { return kept_; }

  // The body with more results: in each place what is kept there, or zeros.
  Graph telling(const std::vector<SharedPlace>& places, std::size_t number) const {
    const Graph& graph = inner_.graph;
    GraphBuilder b(graph.name, config_for(graph));
    Renaming renamed(graph);
    for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
    for (const Node& node : graph.nodes) emit_node(b, node, renamed);
    b.set_place({}, "");
    std::vector<ValueId> results = renamed.of(graph.results);
    for (const SharedPlace& place : places)
      results.push_back(place.values[number] == kZero ? ops::filled(b, place.type, 0.0) : renamed[place.values[number]]);
    b.set_results(std::move(results));
    return b.finish();
  }

  // The body with as many more parameters, which computes the rest again.
  Graph taking(const std::vector<SharedPlace>& places, std::size_t number) const {
    GraphBuilder b(again_.name, config_for(again_));
    Renaming renamed(again_);
    const std::size_t own = inner_.graph.params.size();
    for (std::size_t i = 0; i < own; ++i) renamed[again_.params[i]] = b.param(again_.type(again_.params[i]));
    for (const SharedPlace& place : places) {
      const ValueId param = b.param(place.type);
      const auto found = std::find(candidates_.begin(), candidates_.end(), place.values[number]);
      if (found != candidates_.end()) renamed[again_.params[own + std::size_t(found - candidates_.begin())]] = param;
    }
    for (const Node& node : again_.nodes) emit_node(b, node, renamed);
    b.set_place({}, "");
    b.set_results(renamed.of(again_.results));
    return b.finish();
  }

 private:
  // The body with all candidates as further parameters, which these nodes compute.
  Graph without(const std::vector<bool>& is_known) const {
    const Graph& graph = inner_.graph;
    GraphBuilder b(graph.name, config_for(graph));
    Renaming renamed(graph);
    for (const auto* ids : {&graph.params, &candidates_})
      for (ValueId id : *ids) renamed[id] = b.param(graph.type(id));
    for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
      if (is_known[std::size_t(n)]) continue;
      const Node& node = graph.nodes[std::size_t(n)];
      const auto found = inner_.nodes.find(n);
      emit_node(b, found == inner_.nodes.end() ? node : with_taken(node, found->second), renamed);
    }
    b.set_place({}, "");
    b.set_results(renamed.of(graph.results));
    return b.finish();
  }

  SavedInBodies inner_;
  std::vector<ValueId> candidates_;  // of the inner graph
  std::vector<TypedValue> kept_;     // those of them that are needed
  Graph again_;
};

}  // namespace

Node with_taken(const Node& node, const SavedInBodies::Taking& taking) {
  Node again = node;
  again.operands.insert(again.operands.end(), node.results.begin() + std::ptrdiff_t(taking.own_results), node.results.end());
  again.results.resize(taking.own_results);
  again.attrs.set("bodies", taking.bodies);
  return again;
}

SavedInBodies save_in_bodies(const Graph& graph, const std::vector<bool>& unknown, const Saves& saves) {
  SavedInBodies out;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return saves_any_in(node, saves); })) {
    out.graph = graph;
    return out;
  }
  const BodySplit split(graph, unknown);
  GraphBuilder b(graph.name, config_for(graph));
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (const Node& node : graph.nodes) {
    std::deque<KeptOfBody> bodies;
    std::vector<std::vector<TypedValue>> kept;
    // A branch that tangents choose is whole in the linear half.
    if (saves_any_in(node, saves) && !(node.op->region == RegionKind::kBranch && split.varies_value(node.operands[0]))) {
      std::vector<bool> is_unknown;
      for (ValueId id : node.operands) is_unknown.push_back(split.varies_value(id));
      is_unknown = unknown_in_bodies(node, std::move(is_unknown));
      for (const GraphRef& body : node.attrs.bodies()) kept.push_back(bodies.emplace_back(*body, is_unknown, saves).kept());
    }
    const std::vector<SharedPlace> places = shared_places(kept);
    if (places.empty()) {
      emit_node(b, node, renamed);
      continue;
    }
    Bodies telling, taking;
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      telling.push_back(body_ref(bodies[k].telling(places, k)));
      taking.push_back(body_ref(bodies[k].taking(places, k)));
    }
    Attrs attrs = node.attrs;
    b.set_place_of(node);
    const std::vector<ValueId> results = b.emit(*node.op, renamed.of(node.operands), attrs.set("bodies", telling));
    for (std::size_t i = 0; i < node.results.size(); ++i) renamed[node.results[i]] = results[i];
    out.nodes[NodeId(b.graph().nodes.size()) - 1] = {node.results.size(), std::move(taking)};
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  out.graph = b.finish();
  return out;
}

}  // namespace shardlab::transform
