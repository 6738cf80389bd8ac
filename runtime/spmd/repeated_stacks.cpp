#include "runtime/spmd/repeated_stacks.h"

#include <algorithm>

#include "runtime/spmd/prepare.h"
#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {
namespace {

bool is_scan(const Node& node) { return node.op->region == RegionKind::kScan; }

// What a scan takes are constants, what it carries, and what it has slices of; it gives what it carries, and stacks.
struct ScanCounts {
  std::size_t consts, carried;
  explicit ScanCounts(const Node& scan)
      : consts(std::size_t(scan.attrs.integer("num_consts", 0))), carried(std::size_t(scan.attrs.integer("num_carry", 0))) {}
};

// A body without some of its results, and with some of its slices behind its constants instead of where they were.
BodyPropagation changed(const BodyPropagation& body, std::size_t consts, const std::vector<bool>& is_constant,
                        const std::vector<bool>& is_given) {
  PropagationCopy copy(body.graph, body.values, body.origins);
  auto copy_params = [&](std::size_t start, bool constant) {
    for (std::size_t i = start; i < body.graph.params.size(); ++i)
      if (is_constant[i] == constant) copy.copy_param(body.graph.params[i]);
  };
  for (std::size_t i = 0; i < consts; ++i) copy.copy_param(body.graph.params[i]);
  copy_params(consts, true);
  copy_params(consts, false);
  BodyPropagations bodies;
  for (NodeId n = 0; n < NodeId(body.graph.nodes.size()); ++n) {
    copy.copy_node(n, body.graph.nodes[std::size_t(n)]);
    if (auto inner = body.bodies.find(n); inner != body.bodies.end()) bodies[copy.node_now(n)] = inner->second;
  }
  for (std::size_t r = 0; r < is_given.size(); ++r)
    if (is_given[r]) copy.graph.results.push_back(copy.now(body.graph.results[r]));
  return copy.as_body(std::move(bodies));
}

class Unstacker {
 public:
  explicit Unstacker(const Propagation& from)
      : from_(from), uses_(uses_of(from.graph)), repeated_(from.graph.values.size(), -1), to_(from.graph, from.values, from.origins) {}

  std::optional<Propagation> run() {
    for (const Node& node : from_.graph.nodes) find_stacks(node);
    if (std::all_of(repeated_.begin(), repeated_.end(), [](ValueId id) { return id < 0; })) return std::nullopt;
    for (ValueId id : from_.graph.params) to_.copy_param(id);
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) copy(n);
    return to_.as_program(from_, std::move(bodies_));
  }

 private:
  void find_stacks(const Node& node) {
    if (!is_scan(node)) return;
    const Graph& body = *node.attrs.bodies()[0];
    const ScanCounts counts(node);
    for (std::size_t r = counts.carried; r < node.results.size(); ++r) {
      const Value& stacked = body.values[std::size_t(body.results[r])];
      if (stacked.producer >= 0 || std::size_t(stacked.result_index) >= counts.consts) continue;
      if (is_for_scans_alone(node.results[r])) repeated_[std::size_t(node.results[r])] = node.operands[std::size_t(stacked.result_index)];
    }
  }

  bool is_for_scans_alone(ValueId stack) const {
    const auto& uses = uses_[std::size_t(stack)];
    return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      if (use.node < 0) return false;
      const Node& user = from_.graph.nodes[std::size_t(use.node)];
      const ScanCounts counts(user);
      return is_scan(user) && std::size_t(use.operand) >= counts.consts + counts.carried;
    });
  }

  bool is_repeated(ValueId id) const { return repeated_[std::size_t(id)] >= 0; }

  void copy(NodeId n) {
    Node node = from_.graph.nodes[std::size_t(n)];
    auto found = from_.bodies.find(n);
    const bool is_changed =
        is_scan(node) && (std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return is_repeated(id); }) ||
                          std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) { return is_repeated(id); }));
    if (found == from_.bodies.end()) {
      to_.copy_node(n, std::move(node));
      return;
    }
    SharedBodies bodies = found->second;
    if (is_changed) bodies = change(node, *bodies);
    to_.copy_node(n, std::move(node));
    bodies_[to_.node_now(n)] = std::move(bodies);
  }

  SharedBodies change(Node& scan, const std::vector<BodyPropagation>& bodies) const {
    const std::size_t consts = ScanCounts(scan).consts;
    std::vector<bool> is_constant, is_given;
    for (ValueId id : scan.operands) is_constant.push_back(is_repeated(id));
    for (ValueId id : scan.results) is_given.push_back(!is_repeated(id));
    std::vector<ValueId> operands(scan.operands.begin(), scan.operands.begin() + std::ptrdiff_t(consts)), results;
    for (ValueId id : scan.operands)
      if (is_repeated(id)) operands.push_back(repeated_[std::size_t(id)]);
    const std::size_t new_consts = operands.size();
    for (std::size_t i = consts; i < scan.operands.size(); ++i)
      if (!is_constant[i]) operands.push_back(scan.operands[i]);
    std::copy_if(scan.results.begin(), scan.results.end(), std::back_inserter(results), [&](ValueId id) { return !is_repeated(id); });
    std::vector<BodyPropagation> now;
    Bodies graphs;
    for (const BodyPropagation& body : bodies) {
      now.push_back(changed(body, consts, is_constant, is_given));
      graphs.push_back(std::make_shared<const Graph>(now.back().graph));
    }
    scan.attrs.set("bodies", graphs).set("num_consts", std::int64_t(new_consts));
    scan.operands = std::move(operands);
    scan.results = std::move(results);
    return std::make_shared<const std::vector<BodyPropagation>>(std::move(now));
  }

  const Propagation& from_;
  const Uses uses_;
  std::vector<ValueId> repeated_;  // per value that is a stack: what is in it, again and again; -1: of all others
  PropagationCopy to_;
  BodyPropagations bodies_;
};

}  // namespace

std::optional<Propagation> without_repeated_stacks(const Propagation& propagation) { return Unstacker(propagation).run(); }

}  // namespace shardlab::spmd
