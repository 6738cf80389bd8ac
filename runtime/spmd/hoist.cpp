#include "runtime/spmd/hoist.h"

#include <algorithm>

#include "runtime/spmd/prepare.h"
#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {
namespace {

std::size_t const_count(const Node& loop) { return std::size_t(loop.attrs.integer("num_consts", 0)); }
bool is_loop(const Node& node) { return node.op->region == RegionKind::kWhile || node.op->region == RegionKind::kScan; }

// Per node of a loop's body whether it is work on what the loop does not change alone. Constants and what repeats a scalar cost nothing
// where they are used, and are no work.
std::vector<bool> invariant_work(const Graph& body, std::size_t consts) {
  const std::vector<bool> constant = constant_expressions(body);
  std::vector<bool> varies(body.values.size(), false), work;
  for (std::size_t i = consts; i < body.params.size(); ++i) varies[std::size_t(body.params[i])] = true;
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    const Node& node = body.nodes[n];
    const bool is_plain = node.op->region == RegionKind::kNone && !node.op->member && node.op->collective.empty() && !node.results.empty();
    const bool stays =
        !is_plain || std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return varies[std::size_t(id)]; });
    for (ValueId id : node.results) varies[std::size_t(id)] = stays;
    work.push_back(!stays && !constant[n] && !is_scalar_broadcast(body, node));
  }
  return work;
}

// A body without such work: its results are parameters behind the constant ones. `of`: the body that has it.
BodyPropagation without(const BodyPropagation& body, const BodyPropagation& of, const std::vector<bool>& work, std::size_t consts,
                        const std::vector<ValueId>& wanted) {
  const bool has_work = &body == &of;
  PropagationCopy copy(body.graph, body.values, body.origins);
  for (std::size_t i = 0; i < consts; ++i) copy.copy_param(body.graph.params[i]);
  for (ValueId id : wanted) {
    const ValueId param = copy.add_param(of.graph.type(id), of.values[std::size_t(id)]);
    if (has_work) copy.now(id) = param;
  }
  for (std::size_t i = consts; i < body.graph.params.size(); ++i) copy.copy_param(body.graph.params[i]);
  BodyPropagation out;
  for (NodeId n = 0; n < NodeId(body.graph.nodes.size()); ++n) {
    if (has_work && work[std::size_t(n)]) continue;
    copy.copy_node(n, body.graph.nodes[std::size_t(n)]);
    if (auto inner = body.bodies.find(n); inner != body.bodies.end()) out.bodies[copy.node_now(n)] = inner->second;
  }
  for (ValueId id : body.graph.results) copy.graph.results.push_back(copy.now(id));
  copy.name_origins();
  out.graph = std::move(copy.graph);
  out.values = std::move(copy.shardings);
  out.origins = std::move(copy.origins);
  return out;
}

class Hoister {
 public:
  explicit Hoister(const Propagation& from) : from_(from), to_(from.graph, from.values, from.origins) {}

  std::optional<Propagation> run() {
    for (ValueId id : from_.graph.params) to_.copy_param(id);
    bool has_changed = false;
    BodyPropagations bodies;
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) {
      Node node = from_.graph.nodes[std::size_t(n)];
      auto found = from_.bodies.find(n);
      if (found == from_.bodies.end()) {
        to_.copy_node(n, std::move(node));
        continue;
      }
      std::vector<BodyPropagation> own = found->second;
      std::vector<ValueId> made;
      if (is_loop(node)) made = hoist(node, own);
      has_changed = has_changed || !made.empty();
      to_.copy_node(n, std::move(node), const_count(from_.graph.nodes[std::size_t(n)]), made);
      bodies[to_.node_now(n)] = std::move(own);
    }
    if (!has_changed) return std::nullopt;
    for (ValueId id : from_.graph.results) to_.graph.results.push_back(to_.now(id));
    to_.name_origins();
    Propagation out{.graph = std::move(to_.graph),
                    .values = std::move(to_.shardings),
                    .results = from_.results,
                    .open_results = from_.open_results,
                    .origins = std::move(to_.origins),
                    .bodies = std::move(bodies)};
    return out;
  }

 private:
  // Takes the work out of a loop's body; what is left of the loop takes these values besides.
  std::vector<ValueId> hoist(Node& loop, std::vector<BodyPropagation>& bodies) {
    const std::size_t consts = const_count(loop);
    const BodyPropagation body = bodies.back();
    const std::vector<bool> work = invariant_work(body.graph, consts);
    std::vector<ValueId> names(body.graph.values.size(), -1);  // out here
    for (std::size_t i = 0; i < consts; ++i) names[std::size_t(body.graph.params[i])] = to_.now(loop.operands[i]);
    std::vector<bool> is_used(body.graph.values.size(), false);
    for (std::size_t n = 0; n < work.size(); ++n)
      for (ValueId id : body.graph.nodes[n].operands) is_used[std::size_t(id)] = is_used[std::size_t(id)] || !work[n];
    for (ValueId id : body.graph.results) is_used[std::size_t(id)] = true;
    std::vector<ValueId> wanted, made;
    for (NodeId n = 0; n < NodeId(work.size()); ++n) {
      if (!work[std::size_t(n)]) continue;
      emit(body, n, names);
      for (ValueId id : body.graph.nodes[std::size_t(n)].results)
        if (is_used[std::size_t(id)]) wanted.push_back(id);
    }
    for (ValueId id : wanted) made.push_back(names[std::size_t(id)]);
    if (wanted.empty()) return made;
    std::vector<BodyPropagation> rest;
    Bodies graphs;
    for (const BodyPropagation& each : bodies) {
      rest.push_back(without(&each == &bodies.back() ? body : each, body, work, consts, wanted));
      graphs.push_back(std::make_shared<const Graph>(rest.back().graph));
    }
    bodies = std::move(rest);
    loop.attrs.set("bodies", graphs).set("num_consts", std::int64_t(consts + wanted.size()));
    return made;
  }

  // A node of a body out here, after what it needs that is not here yet.
  void emit(const BodyPropagation& body, NodeId n, std::vector<ValueId>& names) {
    Node node = body.graph.nodes[std::size_t(n)];
    for (ValueId& id : node.operands) {
      if (names[std::size_t(id)] < 0) emit(body, body.graph.values[std::size_t(id)].producer, names);
      id = names[std::size_t(id)];
    }
    for (ValueId& id : node.results) {
      names[std::size_t(id)] = to_.add_value(body.graph.type(id), body.values[std::size_t(id)]);
      id = names[std::size_t(id)];
    }
    to_.add_node(std::move(node));
  }

  const Propagation& from_;
  PropagationCopy to_;
};

}  // namespace

std::optional<Propagation> hoisted(const Propagation& propagation) { return Hoister(propagation).run(); }

}  // namespace shardlab::spmd
