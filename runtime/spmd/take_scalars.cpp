#include "runtime/spmd/take_scalars.h"

#include <algorithm>
#include <map>

#include "runtime/graph/host_callback.h"
#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {
namespace {

// A node that repeats a scalar.
using Repeating = std::map<std::size_t, const Node*>;  // by the operand of code

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
      if (std::none_of(node.results.begin(), node.results.end(), [&](ValueId id) { return wanted[std::size_t(id)]; }) &&
          !node.results.empty() && (node.op->is_constraint || is_scalar_broadcast(from_.graph, node)))
        continue;
      auto found = from_.bodies.find(n);
      SharedBodies own = found == from_.bodies.end() ? nullptr : found->second;
      if (own && take_within(node, own)) has_changed = true;
      if (auto each = taken_.find(n); each != taken_.end()) {
        copy_code(n, std::move(node), own, each->second);
        continue;
      }
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

  Repeating repeating(const Node& code) const {
    Repeating found;
    if (code.op->region != RegionKind::kManual || code.attrs.flag(kPlanned)) return found;
    for (std::size_t i = 0; i < code.operands.size(); ++i) {
      const Node* node = producer(code.operands[i]);
      while (node != nullptr && node->op->is_constraint) node = producer(node->operands[0]);
      if (node != nullptr && is_scalar_broadcast(from_.graph, *node)) found[i] = node;
    }
    return found;
  }

  // The node that has it, of a number.
  const Node* number_of(ValueId scalar) const {
    const Node* node = producer(scalar);
    return node != nullptr && node->op->constant ? node : nullptr;
  }

  // What somebody still needs.
  std::vector<bool> wanted_values() const {
    std::vector<bool> wanted(from_.graph.values.size(), false);
    for (ValueId id : from_.graph.results) wanted[std::size_t(id)] = true;
    for (auto n = NodeId(from_.graph.nodes.size()) - 1; n >= 0; --n) {
      const Node& node = from_.graph.nodes[std::size_t(n)];
      const bool is_gone = (node.op->is_constraint || is_scalar_broadcast(from_.graph, node)) && !wanted[std::size_t(node.results[0])];
      const auto taken = taken_.find(n);
      for (std::size_t i = 0; i < node.operands.size() && !is_gone; ++i) {
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

  void copy_code(NodeId n, Node node, const SharedBodies& own, const Repeating& repeating) {
    static const std::vector<std::vector<Origin>> kNone;
    const GraphRef written = node.attrs.bodies()[0];
    const Graph& graph = own ? own->at(0).graph : *written;
    const std::vector<ValueSharding> unsharded(own ? 0 : graph.values.size());
    PropagationCopy code(graph, own ? own->at(0).values : unsharded, own ? own->at(0).origins : kNone);
    std::vector<ValueId> operands;
    std::vector<Sharding> in;
    std::vector<ValueId> scalars(graph.params.size(), -1);  // in the code
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
      const auto found = repeating.find(i);
      if (found == repeating.end()) {
        code.copy_param(graph.params[i]);
        operands.push_back(node.operands[i]);
        in.push_back(node.attrs.shardings("in_specs")[i]);
      } else if (const ValueId scalar = found->second->operands[0]; !number_of(scalar)) {
        scalars[i] = code.add_param(from_.graph.type(scalar), ValueSharding(std::in_place));
        operands.push_back(scalar);
        in.emplace_back(mesh_of_code(node, mesh_), Spec{});
      }
    }
    for (const auto& [i, around] : repeating) {
      const ValueId param = graph.params[i], scalar = around->operands[0];
      if (scalars[i] < 0) {
        scalars[i] = code.add_value(from_.graph.type(scalar), ValueSharding(std::in_place));
        Node number = *number_of(scalar);
        number.results = {scalars[i]};
        code.add_node(std::move(number));
      }
      Node repeats = *around;
      code.now(param) = code.add_value(graph.type(param), own ? own->at(0).values[std::size_t(param)] : ValueSharding{});
      repeats.operands = {scalars[i]};
      repeats.results = {code.now(param)};
      repeats.attrs.set("shape", graph.type(param).shape);
      code.add_node(std::move(repeats));
    }
    BodyPropagations inner;
    for (NodeId k = 0; k < NodeId(graph.nodes.size()); ++k) {
      code.copy_node(k, graph.nodes[std::size_t(k)]);
      if (!own) continue;
      if (auto found = own->at(0).bodies.find(k); found != own->at(0).bodies.end()) inner[code.node_now(k)] = found->second;
    }
    for (ValueId id : graph.results) code.graph.results.push_back(code.now(id));
    BodyPropagation body = code.as_body(std::move(inner));
    node.attrs.set("bodies", Bodies{std::make_shared<const Graph>(body.graph)}).set("in_specs", in);
    node.operands = std::move(operands);
    to_.copy_node(n, std::move(node));
    if (own) bodies_[to_.node_now(n)] = std::make_shared<const std::vector<BodyPropagation>>(1, std::move(body));
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
