#include "runtime/spmd/take_scalars.h"

#include <algorithm>
#include <map>

#include "runtime/graph/host_callback.h"
#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {
namespace {

// Nodes that repeat a scalar, by the operand that they are of a node with a body.
using Repeating = std::map<std::size_t, const Node*>;

// Which operands of such a node its body takes as they are. Those before `first_part` are whole, the others have a part for each turn of a
// scan; what a loop carries is in between.
struct Taking {
  std::size_t whole = 0, first_part = 0;

  explicit Taking(const Node& node) : whole(node.operands.size()), first_part(node.operands.size()) {
    if (node.op->region != RegionKind::kScan) return;
    whole = std::size_t(node.attrs.integer("num_consts", 0));
    first_part = whole + std::size_t(node.attrs.integer("num_carry", 0));
  }
  bool may_take(std::size_t operand) const { return operand < whole || operand >= first_part; }
};

class Taker {
 public:
  Taker(const Propagation& from, const Mesh& mesh) : from_(from), mesh_(mesh), to_(from.graph, from.values, from.origins) {
    for (NodeId n = 0; n < NodeId(from.graph.nodes.size()); ++n)
      if (Repeating found = repeating(from.graph.nodes[std::size_t(n)]); !found.empty()) taken_[n] = std::move(found);
  }

  std::optional<Propagation> run() {
    bool has_changed = !taken_.empty();
    const std::vector<bool> wanted = wanted_values();
    for (ValueId id : from_.graph.params) to_.copy_param(id);
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) {
      Node node = from_.graph.nodes[std::size_t(n)];
      if (only_repeats(node) && !wanted[std::size_t(node.results[0])]) continue;
      auto found = from_.bodies.find(n);
      SharedBodies own = found == from_.bodies.end() ? nullptr : found->second;
      if (auto taken = taken_.find(n); taken != taken_.end()) take(node, own, taken->second);
      if (own && take_within(node, own)) has_changed = true;
      to_.copy_node(n, std::move(node));
      if (own) bodies_[to_.node_now(n)] = std::move(own);
    }
    return has_changed ? std::optional(to_.as_program(from_, std::move(bodies_))) : std::nullopt;
  }

 private:
  const Node* producer(ValueId id) const {
    const NodeId n = from_.graph.values[std::size_t(id)].producer;
    return n < 0 ? nullptr : &from_.graph.nodes[std::size_t(n)];
  }

  // The node that has it, of a number.
  const Node* number_of(ValueId scalar) const {
    const Node* node = producer(scalar);
    return node != nullptr && node->op->constant ? node : nullptr;
  }

  // Whether a node is gone where nobody needs it any more.
  bool only_repeats(const Node& node) const { return node.op->is_constraint || is_scalar_broadcast(from_.graph, node); }

  Repeating repeating(const Node& taker) const {
    Repeating found;
    const bool is_code = taker.op->region == RegionKind::kManual && !taker.attrs.flag(kPlanned);
    if (!is_code && taker.op->region != RegionKind::kScan) return found;
    const Taking taking(taker);
    for (std::size_t i = 0; i < taker.operands.size(); ++i) {
      if (!taking.may_take(i)) continue;
      const Node* node = producer(taker.operands[i]);
      while (node != nullptr && node->op->is_constraint) node = producer(node->operands[0]);
      if (node != nullptr && is_scalar_broadcast(from_.graph, *node)) found[i] = node;
    }
    return found;
  }

  // What somebody still needs.
  std::vector<bool> wanted_values() const {
    std::vector<bool> wanted(from_.graph.values.size(), false);
    for (ValueId id : from_.graph.results) wanted[std::size_t(id)] = true;
    for (auto n = NodeId(from_.graph.nodes.size()) - 1; n >= 0; --n) {
      const Node& node = from_.graph.nodes[std::size_t(n)];
      if (only_repeats(node) && !wanted[std::size_t(node.results[0])]) continue;
      const auto taken = taken_.find(n);
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        const bool is_taken = taken != taken_.end() && taken->second.contains(i);
        wanted[std::size_t(is_taken ? taken->second.at(i)->operands[0] : node.operands[i])] = true;
      }
    }
    return wanted;
  }

  // In the bodies of a node, too.
  bool take_within(Node& node, SharedBodies& own) const {
    std::vector<BodyPropagation> bodies = *own;
    Bodies graphs;
    bool has_changed = false;
    for (BodyPropagation& body : bodies) {
      if (std::optional<Propagation> now = with_scalars_taken(as_program(body), mesh_)) {
        body = as_body(*std::move(now));
        has_changed = true;
      }
      graphs.push_back(std::make_shared<const Graph>(body.graph));
    }
    if (!has_changed) return false;
    node.attrs.set("bodies", graphs);
    own = std::make_shared<const std::vector<BodyPropagation>>(std::move(bodies));
    return true;
  }

  // The node takes scalars in place of what repeats them.
  void take(Node& node, SharedBodies& own, const Repeating& repeating) const {
    static const std::vector<std::vector<Origin>> kNone;
    const GraphRef written = node.attrs.bodies()[0];
    const Graph& graph = own ? own->at(0).graph : *written;
    const std::vector<ValueSharding> unsharded(own ? 0 : graph.values.size());
    PropagationCopy body(graph, own ? own->at(0).values : unsharded, own ? own->at(0).origins : kNone);
    const bool is_code = node.op->region == RegionKind::kManual;
    std::vector<ValueId> operands, scalars(graph.params.size(), -1);  // the latter in the body
    std::vector<Sharding> in;
    auto keep = [&](std::size_t i) {
      body.copy_param(graph.params[i]);
      operands.push_back(node.operands[i]);
      if (is_code) in.push_back(node.attrs.shardings("in_specs")[i]);
    };
    auto take_scalar = [&](std::size_t i) {
      const ValueId scalar = repeating.at(i)->operands[0];
      if (number_of(scalar) != nullptr) return;
      scalars[i] = body.add_param(from_.graph.type(scalar), ValueSharding(std::in_place));
      operands.push_back(scalar);
      if (is_code) in.emplace_back(mesh_of_code(node, mesh_), Spec{});
    };
    const Taking taking(node);
    for (std::size_t i = 0; i < taking.whole; ++i) repeating.contains(i) ? take_scalar(i) : keep(i);
    for (std::size_t i = taking.first_part; i < graph.params.size(); ++i)
      if (repeating.contains(i)) take_scalar(i);
    const std::size_t consts = operands.size();
    for (std::size_t i = taking.whole; i < graph.params.size(); ++i)
      if (!repeating.contains(i)) keep(i);

    for (const auto& [i, around] : repeating) {
      const ValueId param = graph.params[i], scalar = around->operands[0];
      if (scalars[i] < 0) {
        scalars[i] = body.add_value(from_.graph.type(scalar), ValueSharding(std::in_place));
        Node number = *number_of(scalar);
        number.results = {scalars[i]};
        body.add_node(std::move(number));
      }
      Node repeats = *around;
      body.now(param) = body.add_value(graph.type(param), own ? own->at(0).values[std::size_t(param)] : ValueSharding{});
      repeats.operands = {scalars[i]};
      repeats.results = {body.now(param)};
      repeats.attrs.set("shape", graph.type(param).shape);
      body.add_node(std::move(repeats));
    }
    BodyPropagations inner;
    for (NodeId k = 0; k < NodeId(graph.nodes.size()); ++k) {
      body.copy_node(k, graph.nodes[std::size_t(k)]);
      if (!own) continue;
      if (auto found = own->at(0).bodies.find(k); found != own->at(0).bodies.end()) inner[body.node_now(k)] = found->second;
    }
    for (ValueId id : graph.results) body.graph.results.push_back(body.now(id));
    BodyPropagation changed = body.as_body(std::move(inner));
    node.attrs.set("bodies", Bodies{std::make_shared<const Graph>(changed.graph)});
    if (is_code)
      node.attrs.set("in_specs", in);
    else
      node.attrs.set("num_consts", std::int64_t(consts));
    node.operands = std::move(operands);
    if (own) own = std::make_shared<const std::vector<BodyPropagation>>(1, std::move(changed));
  }

  const Propagation& from_;
  const Mesh& mesh_;
  PropagationCopy to_;
  std::map<NodeId, Repeating> taken_;
  BodyPropagations bodies_;
};

}  // namespace

std::optional<Propagation> with_scalars_taken(const Propagation& propagation, const Mesh& mesh) { return Taker(propagation, mesh).run(); }

}  // namespace shardlab::spmd
