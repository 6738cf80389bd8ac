// Source: JAX's rule of scan for partial evaluation under a policy (_scan_partial_eval_custom).
#include "runtime/transform/saved_in_loops.h"

#include <algorithm>
#include <optional>

#include "runtime/transform/region_bodies.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

using Saves = std::function<bool(const Node&)>;

bool saves_any_in(const Node& node, const Saves& saves) {
  if (node.op->region != RegionKind::kScan) return false;
  bool any = false;
  visit_nodes(*node.attrs.bodies()[0], [&](const Node& inner) { any |= saves(inner); });
  return any;
}

// Which parameters of a scan's body are unknown in some turn.
std::vector<bool> unknown_in_turns(const Node& node, std::vector<bool> unknown) {
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
  KeptOfBody(const Graph& body, const std::vector<bool>& unknown, const Saves& saves)
      : inner_(save_in_loops(body, unknown, saves)), is_known_(inner_.graph.nodes.size(), false) {
    const Graph& graph = inner_.graph;
    const BodySplit split(graph, unknown);
    for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
      const Node& node = graph.nodes[std::size_t(n)];
      const auto loop = inner_.loops.find(n);
      const bool is_loop = loop != inner_.loops.end();
      is_known_[std::size_t(n)] = !is_loop && saves(node) && !split.varies_value(node.results[0]);
      const auto first = node.results.begin() + std::ptrdiff_t(is_loop ? loop->second.own_results : 0);
      if (is_loop || is_known_[std::size_t(n)]) kept_.insert(kept_.end(), first, node.results.end());
    }
    // What nobody asks for where the rest is computed again is not kept.
    const Graph again = without_dead_nodes(taking());
    std::vector<bool> is_used(again.values.size(), false);
    for (const Node& node : again.nodes)
      for (ValueId id : node.operands) is_used[std::size_t(id)] = true;
    for (ValueId id : again.results) is_used[std::size_t(id)] = true;
    std::vector<ValueId> used;
    for (std::size_t i = 0; i < kept_.size(); ++i)
      if (is_used[std::size_t(again.params[body.params.size() + i])]) used.push_back(kept_[i]);
    kept_ = std::move(used);
  }

  bool keeps_any() const { return !kept_.empty(); }

  Graph telling() const {
    Graph graph = inner_.graph;
    graph.results.insert(graph.results.end(), kept_.begin(), kept_.end());
    return graph;
  }

  Graph taking() const {
    const Graph& graph = inner_.graph;
    GraphBuilder b(graph.name, config_for(graph));
    Renaming renamed(graph);
    for (const auto* ids : {&graph.params, &kept_})
      for (ValueId id : *ids) renamed[id] = b.param(graph.type(id));
    for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
      if (is_known_[std::size_t(n)]) continue;
      const auto loop = inner_.loops.find(n);
      const Node& node = graph.nodes[std::size_t(n)];
      emit_node(b, loop == inner_.loops.end() ? node : with_taken(node, loop->second), renamed);
    }
    b.set_results(renamed.of(graph.results));
    return b.finish();
  }

 private:
  SavedInLoops inner_;
  std::vector<bool> is_known_;  // by node of the inner graph: all that anybody needs of it is kept
  std::vector<ValueId> kept_;   // of the inner graph
};

}  // namespace

Node with_taken(const Node& node, const SavedInLoops::Loop& loop) {
  Node again = node;
  again.operands.insert(again.operands.end(), node.results.begin() + std::ptrdiff_t(loop.own_results), node.results.end());
  again.results.resize(loop.own_results);
  again.attrs.set("bodies", Bodies{loop.taking});
  return again;
}

SavedInLoops save_in_loops(const Graph& graph, const std::vector<bool>& unknown, const Saves& saves) {
  SavedInLoops out;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return saves_any_in(node, saves); })) {
    out.graph = graph;
    return out;
  }
  const BodySplit split(graph, unknown);
  GraphBuilder b(graph.name, config_for(graph));
  Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  for (const Node& node : graph.nodes) {
    std::optional<KeptOfBody> body;
    if (saves_any_in(node, saves)) {
      std::vector<bool> is_unknown;
      for (ValueId id : node.operands) is_unknown.push_back(split.varies_value(id));
      body.emplace(*node.attrs.bodies()[0], unknown_in_turns(node, is_unknown), saves);
    }
    if (!body || !body->keeps_any()) {
      emit_node(b, node, renamed);
      continue;
    }
    Node telling = node;
    telling.attrs.set("bodies", Bodies{body_ref(body->telling())});
    b.set_place_of(node);
    const std::vector<ValueId> results = b.emit(*node.op, renamed.of(node.operands), telling.attrs);
    for (std::size_t i = 0; i < node.results.size(); ++i) renamed[node.results[i]] = results[i];
    out.loops[NodeId(b.graph().nodes.size()) - 1] = {node.results.size(), body_ref(body->taking())};
  }
  b.set_place({}, "");
  b.set_results(renamed.of(graph.results));
  out.graph = b.finish();
  return out;
}

}  // namespace shardlab::transform
