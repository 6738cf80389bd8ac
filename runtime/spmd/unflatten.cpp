#include "runtime/spmd/unflatten.h"

#include <algorithm>

namespace shardlab::spmd {
namespace {

// A loop begins from what its edge does, if that is one of the graph's values.
void redirect_init(Node& loop, const Node& edge, ValueId values) {
  if (loop.op->region == RegionKind::kBranch) return;
  const auto result = std::size_t(std::find(loop.results.begin(), loop.results.end(), edge.results[0]) - loop.results.begin());
  const std::size_t operand = std::size_t(loop.attrs.integer("num_consts", 0)) + result;
  const bool is_carried = loop.op->region == RegionKind::kWhile || result < std::size_t(loop.attrs.integer("num_carry", 0));
  if (is_carried && edge.operands[0] < values) loop.operands[operand] = edge.operands[0];
}

Graph with_redirected(Graph graph, const FlatGraph& flat) {
  for (NodeId n = 0; n < NodeId(flat.graph.nodes.size()); ++n) {
    const Node& node = flat.graph.nodes[std::size_t(n)];
    const NodeId place = flat.places[std::size_t(n)];
    if (place >= NodeId(graph.nodes.size())) continue;
    Node& own = graph.nodes[std::size_t(place)];
    // A constraint in a body is none of who uses its value around it.
    const bool is_inside =
        std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return id >= ValueId(graph.values.size()); });
    if (is_inside && place == n) continue;
    if (flat.is_in_outline(n)) continue;
    if (const auto edge = flat.code_edges.find(n); edge != flat.code_edges.end()) {
      if (edge->second.operand >= 0 && !is_inside) own.operands[std::size_t(edge->second.operand)] = node.operands[0];
    } else if (place != n) {
      redirect_init(own, node, ValueId(graph.values.size()));
    } else if (!node.operands.empty()) {
      own.operands = node.operands;
    }
  }
  for (const FlatGraph::OutlineUse& use : flat.outline_uses) {
    const ValueId value = flat.graph.nodes[std::size_t(use.step)].operands[std::size_t(use.place)];
    if (use.node < NodeId(graph.nodes.size()) && value < ValueId(graph.values.size()))
      graph.nodes[std::size_t(use.node)].operands[std::size_t(use.operand)] = value;
  }
  return graph;
}

// What came through an outline came through its op, from what the outline took it from.
std::vector<std::vector<Origin>> through_ops(const FlatValues& found) {
  const FlatGraph& flat = found.flat;
  auto is_inner = [&](ValueId id, NodeId op) {
    const NodeId producer = id < 0 ? -1 : flat.graph.values[std::size_t(id)].producer;
    const std::vector<ValueId>& results = flat.graph.nodes[std::size_t(op)].results;
    return flat.is_in_outline(producer) && flat.places[std::size_t(producer)] == op &&
           std::find(results.begin(), results.end(), id) == results.end();
  };
  auto earlier = [&](const Origin& origin) {
    const Origin* last = nullptr;
    for (const Origin& each : found.origins[std::size_t(origin.from)])
      if (each.dimension == origin.dimension && each.step < origin.step && overlaps(each.piece, origin.piece)) last = &each;
    return last;
  };
  std::vector<std::vector<Origin>> all = found.origins;
  for (std::vector<Origin>& origins : all)
    for (Origin& origin : origins) {
      if (!flat.is_in_outline(origin.node)) continue;
      const NodeId op = flat.places[std::size_t(origin.node)];
      const Origin* came = &origin;
      while (came != nullptr && is_inner(came->from, op)) came = earlier(*came);
      origin.from = came == nullptr ? -1 : came->from;
      origin.node = op;
    }
  return all;
}

// An origin in the words of the given graph: what is in a body is the work of its node.
Origin outside(Origin origin, const FlatGraph& flat, const Graph& graph) {
  if (origin.node >= 0 && flat.regions[std::size_t(origin.node)] != origin.node) {
    origin.kind = Origin::Kind::kBody;
    origin.node = flat.regions[std::size_t(origin.node)];
    origin.from = -1;
  }
  if (origin.from >= ValueId(graph.values.size())) origin.from = -1;
  return origin;
}

// In the words of a body: what comes from around it comes by its parameters and results.
class Inside {
 public:
  Inside(const FlatGraph& flat, const FlatGraph::Body& body) : flat_(flat), body_(body) {
    for (ValueId id = 0; id < ValueId(body.values.size()); ++id) values_.emplace(body.values[std::size_t(id)], id);
    for (NodeId n = 0; n < NodeId(body.nodes.size()); ++n) nodes_.emplace(body.nodes[std::size_t(n)], n);
    for (const auto& [node, bodies] : body.bodies) {
      within_.emplace(body.nodes[std::size_t(node)], node);
      add_within(node, bodies);
    }
  }

  Origin origin(Origin origin, ValueId value) const {
    const auto node = nodes_.find(origin.node);
    const auto from = values_.find(origin.from);
    const bool is_local = origin.node >= 0 && node != nodes_.end() && node->second < NodeId(body_.graph.nodes.size());
    if (is_local && (origin.kind != Origin::Kind::kRule || from != values_.end())) {
      origin.node = node->second;
      origin.from = from != values_.end() ? from->second : -1;
      return origin;
    }
    if (const auto around = within_.find(origin.node < 0 ? -1 : flat_.places[std::size_t(origin.node)]); around != within_.end()) {
      origin.kind = Origin::Kind::kBody;
      origin.node = around->second;
      origin.from = -1;
      return origin;
    }
    const auto& params = body_.graph.params;
    const auto& results = body_.graph.results;
    const auto param = std::find(params.begin(), params.end(), value);
    const auto result = std::find(results.begin(), results.end(), value);
    if (origin.kind == Origin::Kind::kConstraint && param == params.end()) return origin;
    origin.kind = param != params.end() ? Origin::Kind::kParameter : Origin::Kind::kResult;
    origin.index = param != params.end() ? int(param - params.begin()) : result != results.end() ? int(result - results.begin()) : 0;
    origin.node = origin.from = -1;
    return origin;
  }

 private:
  // A node of the body with bodies of its own, what stands in them, and its edges, which have its place.
  void add_within(NodeId node, const std::vector<FlatGraph::Body>& bodies) {
    for (const FlatGraph::Body& body : bodies) {
      for (NodeId n : body.nodes) within_.emplace(n, node);
      for (const auto& [inner, deeper] : body.bodies) add_within(node, deeper);
    }
  }

  const FlatGraph& flat_;
  const FlatGraph::Body& body_;
  std::map<ValueId, ValueId> values_;  // of the body by the flat graph's
  std::map<NodeId, NodeId> nodes_;
  std::map<NodeId, NodeId> within_;  // whose bodies the flat graph's node stands in
};

BodyPropagations bodies_of(const FlatValues& found, const FlatGraph::Bodies& laid_out) {
  auto place = [&](ValueId id) { return std::size_t(found.flat.sharers[std::size_t(id)]); };
  BodyPropagations all;
  for (const auto& [node, bodies] : laid_out) {
    std::vector<BodyPropagation> own;
    for (const FlatGraph::Body& body : bodies) {
      const Inside inside(found.flat, body);
      BodyPropagation out;
      for (ValueId id = 0; id < ValueId(body.graph.values.size()); ++id) {
        const ValueId here = body.values[std::size_t(id)];
        out.values.push_back(here < 0 ? std::nullopt : found.values[place(here)]);
        out.origins.emplace_back();
        if (here < 0) continue;
        for (const Origin& origin : found.origins[place(here)]) out.origins.back().push_back(inside.origin(origin, id));
      }
      for (std::size_t p = 0; p < body.params.size(); ++p)
        if (body.params[p] >= 0) out.values[std::size_t(body.graph.params[p])] = found.values[place(body.params[p])];
      out.graph = body.graph;
      out.bodies = bodies_of(found, body.bodies);
      own.push_back(std::move(out));
    }
    all[node] = std::make_shared<const std::vector<BodyPropagation>>(std::move(own));
  }
  return all;
}

}  // namespace

Propagation unflattened(Graph graph, const FlatValues& given) {
  std::vector<std::vector<Origin>> through;
  if (!given.flat.outline_uses.empty()) through = through_ops(given);
  const FlatValues found{given.flat, given.values, through.empty() ? given.origins : through};
  Propagation out;
  out.graph = with_redirected(std::move(graph), found.flat);
  for (ValueId id = 0; id < ValueId(out.graph.values.size()); ++id) {
    const std::size_t place = std::size_t(found.flat.sharers[std::size_t(id)]);
    out.values.push_back(found.values[place]);
    out.origins.emplace_back();
    for (const Origin& origin : found.origins[place]) out.origins.back().push_back(outside(origin, found.flat, out.graph));
  }
  out.bodies = bodies_of(found, found.flat.bodies);
  return out;
}

}  // namespace shardlab::spmd
