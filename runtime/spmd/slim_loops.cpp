#include "runtime/spmd/slim_loops.h"

#include <algorithm>

#include "runtime/graph/host_callback.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {
namespace {

using Mask = std::vector<bool>;

bool any(const Mask& mask) { return std::find(mask.begin(), mask.end(), true) != mask.end(); }

bool is_live(const Node& node, const Mask& needed) {
  return has_effects(node) || std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) { return needed[std::size_t(id)]; });
}

// Per value of a graph whether the wanted results need it.
Mask needed_values(const Graph& graph, const Mask& wanted) {
  Mask needed(graph.values.size(), false);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) needed[std::size_t(graph.results[i])] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool live = is_live(*node, needed);
    for (ValueId id : node->operands) needed[std::size_t(id)] = needed[std::size_t(id)] || live;
  }
  return needed;
}

// A while loop, or a scan, and what its body does with what it carries.
struct Loop {
  const Node& node;
  const std::vector<BodyPropagation>& bodies;
  std::size_t consts, carried;
  Mask kept;  // per carried value: not in vain

  Loop(const Node& loop, const std::vector<BodyPropagation>& found)
      : node(loop),
        bodies(found),
        consts(std::size_t(loop.attrs.integer("num_consts", 0))),
        carried(loop.op->region == RegionKind::kScan ? std::size_t(loop.attrs.integer("num_carry", 0)) : loop.results.size()) {}

  const BodyPropagation& body() const { return bodies.back(); }
  ValueId param(std::size_t i) const { return body().graph.params[consts + i]; }

  // The value that the body gives back, where that is what it got, perhaps held where it lies already.
  bool is_unchanged(std::size_t i) const {
    const Graph& graph = body().graph;
    auto spec = [&](ValueId id) { return normalised(propagated_spec(body().values[std::size_t(id)], graph.type(id).shape)); };
    ValueId id = graph.results[i];
    while (id != param(i)) {
      const NodeId producer = graph.values[std::size_t(id)].producer;
      if (producer < 0 || !graph.nodes[std::size_t(producer)].op->is_constraint || spec(id) != spec(param(i))) return false;
      id = graph.nodes[std::size_t(producer)].operands[0];
    }
    return true;
  }

  // What the users of the loop need, its condition, and what these are computed from.
  void keep(const Uses& uses) {
    kept.assign(carried, false);
    Mask wanted;
    for (ValueId id : node.results) wanted.push_back(!uses[std::size_t(id)].empty());
    if (node.op->region == RegionKind::kScan) std::fill(wanted.begin() + std::ptrdiff_t(carried), wanted.end(), true);
    if (node.op->region == RegionKind::kWhile) {
      const Graph& condition = bodies.front().graph;
      const Mask needed = needed_values(condition, Mask(condition.results.size(), true));
      for (std::size_t i = 0; i < carried; ++i) wanted[i] = wanted[i] || needed[std::size_t(condition.params[consts + i])];
    }
    for (bool grew = true; grew;) {
      const Mask needed = needed_values(body().graph, wanted);
      grew = false;
      for (std::size_t i = 0; i < carried; ++i) {
        grew = grew || (needed[std::size_t(param(i))] && !wanted[i]);
        wanted[i] = wanted[i] || needed[std::size_t(param(i))];
      }
    }
    std::copy_n(wanted.begin(), carried, kept.begin());
  }
};

// A body whose unchanged values are constant, without what is not kept.
BodyPropagation slim(const Loop& loop, const BodyPropagation& body, const Mask& unchanged) {
  const bool is_condition = &body != &loop.body();
  PropagationCopy copy(body.graph, body.values, body.origins);
  auto param = [&](std::size_t i) { copy.copy_param(body.graph.params[i]); };
  for (std::size_t i = 0; i < loop.consts; ++i) param(i);
  for (std::size_t i = 0; i < loop.carried; ++i)
    if (unchanged[i]) param(loop.consts + i);
  for (std::size_t i = 0; i < loop.carried; ++i)
    if (loop.kept[i] && !unchanged[i]) param(loop.consts + i);
  for (std::size_t i = loop.consts + loop.carried; i < body.graph.params.size(); ++i) param(i);
  Mask wanted(body.graph.results.size(), true);
  for (std::size_t i = 0; i < loop.carried && !is_condition; ++i) wanted[i] = loop.kept[i] && !unchanged[i];
  const Mask needed = needed_values(body.graph, wanted);
  BodyPropagations bodies;
  for (NodeId n = 0; n < NodeId(body.graph.nodes.size()); ++n) {
    const Node& node = body.graph.nodes[std::size_t(n)];
    if (!is_live(node, needed)) continue;
    copy.copy_node(n, node);
    if (auto inner = body.bodies.find(n); inner != body.bodies.end()) bodies[copy.node_now(n)] = inner->second;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) copy.graph.results.push_back(copy.now(body.graph.results[i]));
  return copy.as_body(std::move(bodies));
}

// A branch without the parameters that stand for others: it says per parameter which one it is the same as, itself or an earlier one.
BodyPropagation with_merged_params(const BodyPropagation& branch, const std::vector<std::size_t>& same) {
  PropagationCopy copy(branch.graph, branch.values, branch.origins);
  const std::vector<ValueId>& params = branch.graph.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (same[i] == i)
      copy.copy_param(params[i]);
    else
      copy.now(params[i]) = copy.now(params[same[i]]);
  }
  BodyPropagations bodies;
  for (NodeId n = 0; n < NodeId(branch.graph.nodes.size()); ++n) {
    copy.copy_node(n, branch.graph.nodes[std::size_t(n)]);
    if (auto inner = branch.bodies.find(n); inner != branch.bodies.end()) bodies[copy.node_now(n)] = inner->second;
  }
  for (ValueId id : branch.graph.results) copy.graph.results.push_back(copy.now(id));
  return copy.as_body(std::move(bodies));
}

// What only dead values were computed from is dead too.
Propagation without_dead(const Propagation& from) {
  const Mask needed = needed_values(from.graph, Mask(from.graph.results.size(), true));
  PropagationCopy copy(from.graph, from.values, from.origins);
  BodyPropagations bodies;
  for (ValueId id : from.graph.params) copy.copy_param(id);
  for (NodeId n = 0; n < NodeId(from.graph.nodes.size()); ++n) {
    const Node& node = from.graph.nodes[std::size_t(n)];
    if (!is_live(node, needed)) continue;
    copy.copy_node(n, node);
    if (auto found = from.bodies.find(n); found != from.bodies.end()) bodies[copy.node_now(n)] = found->second;
  }
  return copy.as_program(from, std::move(bodies));
}

class Slimmer {
 public:
  explicit Slimmer(const Propagation& from) : from_(from), uses_(uses_of(from.graph)), to_(from.graph, from.values, from.origins) {}

  std::optional<Propagation> run() {
    for (ValueId id : from_.graph.params) to_.copy_param(id);
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) copy(n);
    if (!has_changed_) return std::nullopt;
    return without_dead(to_.as_program(from_, std::move(bodies_)));
  }

 private:
  void copy(NodeId n) {
    const Node& node = from_.graph.nodes[std::size_t(n)];
    auto found = from_.bodies.find(n);
    const bool is_loop = node.op->region == RegionKind::kWhile || node.op->region == RegionKind::kScan;
    if (found != from_.bodies.end() && is_loop && copy_slim(n, Loop(node, *found->second))) return;
    const bool is_branch = node.op->region == RegionKind::kBranch;
    if (found != from_.bodies.end() && is_branch && (forward_all(node, *found->second) || merge_operands(n, *found->second))) return;
    to_.copy_node(n, node);
    if (found != from_.bodies.end()) bodies_[to_.node_now(n)] = found->second;
  }

  // Branches that all give back the same operands choose nothing. False where they do.
  bool forward_all(const Node& node, const std::vector<BodyPropagation>& branches) {
    if (has_effects(node)) return false;
    std::vector<ValueId> given;
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      auto place = [&](const BodyPropagation& branch) {
        const auto& params = branch.graph.params;
        return std::size_t(std::find(params.begin(), params.end(), branch.graph.results[i]) - params.begin());
      };
      const std::size_t first = place(branches.front());
      auto is_other = [&](const BodyPropagation& branch) { return place(branch) != first; };
      if (first == branches.front().graph.params.size() || std::any_of(branches.begin(), branches.end(), is_other)) return false;
      given.push_back(node.operands[first + 1]);
    }
    for (std::size_t i = 0; i < given.size(); ++i) to_.now(node.results[i]) = to_.now(given[i]);
    return has_changed_ = true;
  }

  // What branches are given twice they are given once, so that they see that it is the same. False where it is not, or lies in two ways.
  bool merge_operands(NodeId n, const std::vector<BodyPropagation>& branches) {
    Node node = from_.graph.nodes[std::size_t(n)];
    auto lie_alike = [&](std::size_t one, std::size_t other) {
      return std::all_of(branches.begin(), branches.end(), [&](const BodyPropagation& branch) {
        auto spec = [&](std::size_t i) {
          const ValueId param = branch.graph.params[i];
          return normalised(propagated_spec(branch.values[std::size_t(param)], branch.graph.type(param).shape));
        };
        return spec(one) == spec(other);
      });
    };
    std::vector<std::size_t> same;
    std::vector<ValueId> operands = {node.operands[0]};
    for (std::size_t i = 0; i + 1 < node.operands.size(); ++i) {
      std::size_t first = 0;
      while (first < i && (node.operands[first + 1] != node.operands[i + 1] || !lie_alike(first, i))) ++first;
      same.push_back(first);
      if (first == i) operands.push_back(node.operands[i + 1]);
    }
    if (operands.size() == node.operands.size()) return false;
    std::vector<BodyPropagation> bodies;
    Bodies graphs;
    for (const BodyPropagation& each : branches) {
      bodies.push_back(with_merged_params(each, same));
      graphs.push_back(std::make_shared<const Graph>(bodies.back().graph));
    }
    node.attrs.set("bodies", graphs);
    node.operands = std::move(operands);
    to_.copy_node(n, std::move(node));
    bodies_[to_.node_now(n)] = std::make_shared<const std::vector<BodyPropagation>>(std::move(bodies));
    return has_changed_ = true;
  }

  // False where nothing is carried in vain.
  bool copy_slim(NodeId n, Loop loop) {
    loop.keep(uses_);
    Mask unchanged(loop.carried), dropped(loop.carried);
    for (std::size_t i = 0; i < loop.carried; ++i) {
      unchanged[i] = loop.kept[i] && loop.is_unchanged(i);
      dropped[i] = !loop.kept[i] || unchanged[i];
    }
    const bool is_vain = loop.carried == loop.node.results.size() && std::find(dropped.begin(), dropped.end(), false) == dropped.end();
    if (!any(dropped) || (is_vain && has_effects(loop.node))) return false;
    Node node = loop.node;
    std::vector<ValueId> consts, carried, results;
    for (std::size_t i = 0; i < loop.consts; ++i) consts.push_back(node.operands[i]);
    for (std::size_t i = 0; i < loop.carried; ++i) {
      const ValueId init = node.operands[loop.consts + i];
      if (unchanged[i]) {
        consts.push_back(init);
        to_.now(node.results[i]) = to_.now(init);
      } else if (loop.kept[i]) {
        carried.push_back(init);
        results.push_back(node.results[i]);
      }
    }
    std::vector<ValueId> operands = consts;
    operands.insert(operands.end(), carried.begin(), carried.end());
    operands.insert(operands.end(), node.operands.begin() + std::ptrdiff_t(loop.consts + loop.carried), node.operands.end());
    results.insert(results.end(), node.results.begin() + std::ptrdiff_t(loop.carried), node.results.end());
    std::vector<BodyPropagation> bodies;
    Bodies graphs;
    for (const BodyPropagation& each : loop.bodies) {
      bodies.push_back(slim(loop, each, unchanged));
      graphs.push_back(std::make_shared<const Graph>(bodies.back().graph));
    }
    node.attrs.set("bodies", graphs).set("num_consts", std::int64_t(consts.size()));
    if (node.op->region == RegionKind::kScan) node.attrs.set("num_carry", std::int64_t(carried.size()));
    node.operands = std::move(operands);
    node.results = std::move(results);
    has_changed_ = true;
    if (is_vain) return true;
    to_.copy_node(n, std::move(node));
    bodies_[to_.node_now(n)] = std::make_shared<const std::vector<BodyPropagation>>(std::move(bodies));
    return true;
  }

  const Propagation& from_;
  const Uses uses_;
  PropagationCopy to_;
  BodyPropagations bodies_;
  bool has_changed_ = false;
};

}  // namespace

std::optional<Propagation> with_slim_loops(const Propagation& propagation) { return Slimmer(propagation).run(); }

}  // namespace shardlab::spmd
