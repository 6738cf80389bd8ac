#include "runtime/spmd/hoist.h"

#include <algorithm>

#include "runtime/spmd/invariants.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/merge_alike.h"
#include "runtime/spmd/propagation_copy.h"
#include "runtime/spmd/slim_loops.h"
#include "runtime/spmd/split_code.h"
#include "runtime/spmd/trips.h"

namespace shardlab::spmd {
namespace {

std::size_t const_count(const Node& loop) { return std::size_t(loop.attrs.integer("num_consts", 0)); }
bool is_loop(const Node& node) { return node.op->region == RegionKind::kWhile || node.op->region == RegionKind::kScan; }

// A result of a body that the loop does not change, and lies elsewhere than what the loop gives.
struct GivenBack {
  std::size_t result;
  ValueId id;  // of the body
  ValueSharding form;
};

// What leaves a loop's body.
struct Leaving {
  std::vector<bool> work;         // per node
  std::vector<ValueId> wanted;    // what is left needs these of its results
  std::vector<GivenBack> given;   // got besides as the loop gives them, so that they are not moved in each iteration
  std::vector<bool> kept_consts;  // the others have no user left
};

void note_uses(const Graph& graph, const std::vector<bool>& leaves, std::vector<bool>& is_used) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId id : graph.nodes[n].operands) is_used[std::size_t(id)] = is_used[std::size_t(id)] || leaves.empty() || !leaves[n];
}

// A body without that: what it gets instead are parameters behind the constant ones. `of`: the body that it leaves.
BodyPropagation body_without(const BodyPropagation& body, const BodyPropagation& of, const Leaving& leaving) {
  const bool has_work = &body == &of;
  const std::size_t consts = leaving.kept_consts.size();
  PropagationCopy copy(body.graph, body.values, body.origins);
  for (std::size_t i = 0; i < consts; ++i)
    if (leaving.kept_consts[i]) copy.copy_param(body.graph.params[i]);
  for (ValueId id : leaving.wanted) {
    const ValueId param = copy.add_param(of.graph.type(id), of.values[std::size_t(id)]);
    if (has_work) copy.now(id) = param;
  }
  std::vector<ValueId> given;
  for (const GivenBack& each : leaving.given) given.push_back(copy.add_param(of.graph.type(each.id), each.form));
  for (std::size_t i = consts; i < body.graph.params.size(); ++i) copy.copy_param(body.graph.params[i]);
  BodyPropagations bodies;
  for (NodeId n = 0; n < NodeId(body.graph.nodes.size()); ++n) {
    if (has_work && leaving.work[std::size_t(n)]) continue;
    copy.copy_node(n, body.graph.nodes[std::size_t(n)]);
    if (auto inner = body.bodies.find(n); inner != body.bodies.end()) bodies[copy.node_now(n)] = inner->second;
  }
  for (ValueId id : body.graph.results) copy.graph.results.push_back(copy.now(id));
  if (has_work)
    for (std::size_t i = 0; i < given.size(); ++i) copy.graph.results[leaving.given[i].result] = given[i];
  return copy.as_body(std::move(bodies));
}

std::optional<Propagation> hoisted_within(Propagation body, const Mesh& mesh);

// Of a program (kLoops), or of a body that a loop repeats, in which loops of per-device code come first, too (kAndCode).
enum class Within : std::uint8_t { kLoops, kAndCode };

class Hoister {
 public:
  Hoister(const Propagation& from, const Mesh& mesh, Within within)
      : from_(from), mesh_(mesh), within_(within), to_(from.graph, from.values, from.origins) {}

  // Whether anything has left a loop.
  bool run() {
    for (ValueId id : from_.graph.params) to_.copy_param(id);
    bool has_changed = false;
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) {
      Node node = from_.graph.nodes[std::size_t(n)];
      auto found = from_.bodies.find(n);
      SharedBodies own = found == from_.bodies.end() ? nullptr : found->second;
      std::vector<ValueId> made;
      if (own && is_loop(node) && known_trips(from_.graph, node) != 0) made = hoist(node, own);
      has_changed = has_changed || !made.empty();
      if (within_ == Within::kAndCode && node.op->region == RegionKind::kManual && hoist_within_code(node, own)) has_changed = true;
      const std::size_t behind_consts = const_count(node) - made.size();
      to_.copy_node(n, std::move(node), behind_consts, made);
      if (own) bodies_[to_.node_now(n)] = std::move(own);
    }
    return has_changed;
  }

  Propagation result() { return with_alike_merged(to_.as_program(from_, std::move(bodies_))); }

 private:
  // The loop's bodies, once all has left that leaves loops in these, and with what per-device code does anew in each turn apart.
  SharedBodies prepared(const Node& loop, const SharedBodies& bodies) const {
    auto has_own = [](const BodyPropagation& body) {
      return std::any_of(body.graph.nodes.begin(), body.graph.nodes.end(),
                         [](const Node& node) { return is_loop(node) || node.op->region == RegionKind::kManual; });
    };
    if (std::none_of(bodies->begin(), bodies->end(), has_own)) return bodies;
    std::vector<BodyPropagation> changed = *bodies;
    bool has_changed = false;
    for (BodyPropagation& body : changed)
      if (std::optional<Propagation> now = hoisted_within(as_program(body), mesh_)) {
        body = as_body(*std::move(now));
        has_changed = true;
      }
    if (std::optional<BodyPropagation> split = with_code_split(changed.back(), const_count(loop), mesh_)) {
      changed.back() = *std::move(split);
      has_changed = true;
    }
    return has_changed ? std::make_shared<const std::vector<BodyPropagation>>(std::move(changed)) : bodies;
  }

  // Takes the work out of a loop's body; what is left of the loop takes these values besides.
  std::vector<ValueId> hoist(Node& loop, SharedBodies& bodies) {
    const std::size_t consts = const_count(loop);
    const SharedBodies now = prepared(loop, bodies);
    const BodyPropagation& body = now->back();
    Leaving leaving{.work = invariants(body.graph, consts).is_work};
    leaving.given = given_back(loop, body, leaving.work);
    std::vector<bool> is_used(body.graph.values.size(), false);
    note_uses(body.graph, leaving.work, is_used);
    for (std::size_t r = 0; r < body.graph.results.size(); ++r)
      if (std::none_of(leaving.given.begin(), leaving.given.end(), [&](const GivenBack& each) { return each.result == r; }))
        is_used[std::size_t(body.graph.results[r])] = true;

    std::vector<ValueId> names(body.graph.values.size(), -1), made;  // out here
    for (std::size_t i = 0; i < consts; ++i) names[std::size_t(body.graph.params[i])] = to_.now(loop.operands[i]);
    for (NodeId n = 0; n < NodeId(leaving.work.size()); ++n) {
      if (!leaving.work[std::size_t(n)]) continue;
      emit(body, n, names);
      for (ValueId id : body.graph.nodes[std::size_t(n)].results)
        if (is_used[std::size_t(id)]) leaving.wanted.push_back(id);
    }
    for (ValueId id : leaving.wanted) made.push_back(names[std::size_t(id)]);
    for (const GivenBack& each : leaving.given) made.push_back(names[std::size_t(each.id)]);
    if (made.empty()) return made;
    keep_consts(loop, *now, is_used, leaving);
    std::vector<BodyPropagation> rest;
    Bodies graphs;
    for (const BodyPropagation& each : *now) {
      rest.push_back(body_without(each, body, leaving));
      graphs.push_back(std::make_shared<const Graph>(rest.back().graph));
    }
    bodies = std::make_shared<const std::vector<BodyPropagation>>(std::move(rest));
    const auto kept = std::count(leaving.kept_consts.begin(), leaving.kept_consts.end(), true);
    loop.attrs.set("bodies", graphs).set("num_consts", std::int64_t(kept) + std::int64_t(made.size()));
    return made;
  }

  // What leaves the loops of per-device code that a loop around it repeats. Code over all axes has no shardings within.
  bool hoist_within_code(Node& node, SharedBodies& own) const {
    const Graph& code = own ? own->at(0).graph : *node.attrs.bodies()[0];
    if (std::none_of(code.nodes.begin(), code.nodes.end(), is_loop)) return false;
    auto propagated = [&] {
      const std::vector<std::optional<Spec>> params(code.params.size()), results(code.results.size());
      return propagate({&code, Mesh::single(0), params, results});
    };
    std::optional<Propagation> now = hoisted_within(own ? as_program(own->at(0)) : propagated(), mesh_);
    if (!now) return false;
    node.attrs.set("bodies", Bodies{std::make_shared<const Graph>(now->graph)});
    if (own) own = std::make_shared<const std::vector<BodyPropagation>>(1, as_body(*std::move(now)));
    return true;
  }

  // Each of them in the form that the loop gives it in.
  std::vector<GivenBack> given_back(const Node& loop, const BodyPropagation& body, const std::vector<bool>& work) const {
    std::vector<GivenBack> given;
    const std::size_t carried =
        loop.op->region == RegionKind::kScan ? std::size_t(loop.attrs.integer("num_carry", 0)) : loop.results.size();
    for (std::size_t r = 0; r < loop.results.size(); ++r) {
      const ValueId id = body.graph.results[r];
      const Value& value = body.graph.values[std::size_t(id)];
      const bool stays = value.producer >= 0 ? work[std::size_t(value.producer)] : std::size_t(value.result_index) < const_count(loop);
      if (!stays) continue;
      ValueSharding form = from_.values[std::size_t(loop.results[r])];
      if (form && r >= carried) form->erase(form->begin());
      auto spec = [&](const ValueSharding& sharding) { return normalised(even_prefix(sharding, value.type.shape)); };
      if (spec(form) != spec(body.values[std::size_t(id)])) given.push_back({r, id, std::move(form)});
    }
    return given;
  }

  // The constants of a loop that its bodies still use.
  static void keep_consts(Node& loop, const std::vector<BodyPropagation>& bodies, const std::vector<bool>& is_used, Leaving& leaving) {
    std::vector<ValueId> operands;
    std::vector<bool> in_condition(bodies.front().graph.values.size(), false);
    if (bodies.size() > 1) note_uses(bodies.front().graph, {}, in_condition);
    for (std::size_t i = 0; i < const_count(loop); ++i) {
      const bool is_kept = is_used[std::size_t(bodies.back().graph.params[i])] || in_condition[std::size_t(bodies.front().graph.params[i])];
      leaving.kept_consts.push_back(is_kept);
      if (is_kept) operands.push_back(loop.operands[i]);
    }
    operands.insert(operands.end(), loop.operands.begin() + std::ptrdiff_t(const_count(loop)), loop.operands.end());
    loop.operands = std::move(operands);
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
    const NodeId now = to_.add_node(std::move(node));
    if (auto inner = body.bodies.find(n); inner != body.bodies.end()) bodies_[now] = inner->second;
  }

  const Propagation& from_;
  const Mesh& mesh_;
  const Within within_;
  PropagationCopy to_;
  BodyPropagations bodies_;
};

// Of a body of a loop, or of code that one repeats.
std::optional<Propagation> hoisted_within(Propagation body, const Mesh& mesh) {
  if (std::optional<Propagation> slim = with_slim_loops(body)) body = std::move(*slim);
  Hoister hoister(body, mesh, Within::kAndCode);
  if (!hoister.run()) return std::nullopt;
  return hoister.result();
}

}  // namespace

std::optional<Propagation> hoisted(const Propagation& propagation, const Mesh& mesh) {
  Hoister hoister(propagation, mesh, Within::kLoops);
  if (!hoister.run()) return std::nullopt;
  return hoister.result();
}

}  // namespace shardlab::spmd
