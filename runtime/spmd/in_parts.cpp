#include "runtime/spmd/in_parts.h"

#include "runtime/graph/builder.h"
#include "runtime/spmd/candidates.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"

namespace shardlab::spmd {
namespace {

struct Cut {
  int factor = 0;
  std::int64_t parts = 1;
  bool is_large = false;  // the operand that it cuts has more elements than the result
};

// The factors of operands that are sharded, and cannot be cut as they are; where an index map relates them to other operands' dimensions,
// of which the rule knows nothing, also those that can.
std::vector<Cut> cuts_of(const Propagation& propagation, const Node& node) {
  std::vector<Cut> cuts;
  if (node.op->in_parts == nullptr) return cuts;
  const Graph& graph = propagation.graph;
  FactorRule rule = rule_of(graph, node);
  if (!rule.present) return cuts;
  std::vector<bool> can_cut = cuttable_factors(*node.op, rule);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const ValueSharding& sharding = propagation.values[std::size_t(node.operands[i])];
    const Shape& shape = graph.type(node.operands[i]).shape;
    bool by_map = node.op->needs != nullptr && node.op->reduction;
    Spec spec = normalised(by_map ? propagated_spec(sharding, shape) : even_prefix(sharding, shape));
    for (std::size_t d = 0; d < spec.size(); ++d) {
      if (rule.operands[i][d].size() != 1) continue;
      int factor = rule.operands[i][d][0];
      std::int64_t parts = shardlab::part_count(spec[d]);
      if (parts > 1 && (by_map || !can_cut[std::size_t(factor)]))
        cuts.push_back({factor, parts, element_count(shape) > graph.type(node.results[0]).elements()});
    }
  }
  return cuts;
}

// The nodes that are not cloned for their users keep their order when constants are cloned again.
std::vector<NodeId> lasting_nodes(const Graph& graph) {
  std::vector<bool> cloned = cloned_nodes(graph);
  std::vector<NodeId> nodes;
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n)
    if (!cloned[std::size_t(n)]) nodes.push_back(n);
  return nodes;
}

class Rewriter {
 public:
  Rewriter(const Propagation& propagation, PartedNodes nodes)
      : propagation_(propagation), nodes_(nodes), builder_(propagation.graph.name) {}

  // The new graph, or nothing where no node changed.
  std::optional<Graph> run() {
    const Graph& graph = propagation_.graph;
    renamed_.resize(graph.values.size(), -1);
    for (ValueId id : graph.params) renamed_[std::size_t(id)] = builder_.param(graph.type(id));
    bool changed = false;
    for (const Node& node : graph.nodes) changed |= copy(node);
    if (!changed) return std::nullopt;
    std::vector<ValueId> results;
    for (ValueId id : graph.results) results.push_back(renamed_[std::size_t(id)]);
    builder_.set_results(std::move(results));
    return builder_.finish();
  }
  // By value of the old graph: its name in the new one.
  const std::vector<ValueId>& renamed() const { return renamed_; }

 private:
  bool copy(const Node& node) {
    std::vector<ValueId> operands, results;
    for (ValueId id : node.operands) operands.push_back(renamed_[std::size_t(id)]);
    builder_.set_place_of(node);
    bool changed = false;
    for (const Cut& cut : cuts_of(propagation_, node)) {
      if (nodes_ == PartedNodes::kOfLargeOperands && !cut.is_large) continue;
      results = node.op->in_parts(builder_, operands, node.attrs, cut.factor, cut.parts);
      changed = !results.empty();
      if (changed) break;
    }
    if (results.empty()) results = builder_.emit(*node.op, operands, node.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) renamed_[std::size_t(node.results[i])] = results[i];
    return changed;
  }

  const Propagation& propagation_;
  PartedNodes nodes_;
  GraphBuilder builder_;
  std::vector<ValueId> renamed_;
};

}  // namespace

std::optional<Propagation> in_parts(const Propagation& propagation, const PropagationInput& input, PartedNodes nodes) {
  Rewriter rewriter(propagation, nodes);
  std::optional<Graph> rewritten = rewriter.run();
  if (!rewritten) return std::nullopt;
  PropagationInput again = input;
  again.graph = &*rewritten;
  Propagation result = propagate(again);

  // From the rewritten graph to the one with its constants cloned anew.
  std::vector<ValueId> renamed(rewritten->values.size(), -1);
  std::vector<NodeId> before = lasting_nodes(*rewritten), after = lasting_nodes(result.graph);
  if (before.size() != after.size()) return std::nullopt;  // a node of the form was of no use
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Node &from = rewritten->nodes[std::size_t(before[i])], &to = result.graph.nodes[std::size_t(after[i])];
    if (from.op != to.op) return std::nullopt;
    for (std::size_t r = 0; r < from.results.size(); ++r) renamed[std::size_t(from.results[r])] = to.results[r];
  }
  for (std::size_t i = 0; i < rewritten->params.size(); ++i) renamed[std::size_t(rewritten->params[i])] = result.graph.params[i];
  for (std::size_t id = 0; id < propagation.graph.values.size(); ++id) {
    ValueId in_rewritten = rewriter.renamed()[id];
    ValueId now = in_rewritten < 0 ? -1 : renamed[std::size_t(in_rewritten)];
    if (now < 0) continue;
    result.values[std::size_t(now)] = propagation.values[id];
    result.origins[std::size_t(now)] = propagation.origins[id];
  }
  result.results = propagation.results;
  return result;
}

bool parted_nodes_matter(const Propagation& propagation) {
  bool some_are = false, some_are_not = false;
  for (const Node& node : propagation.graph.nodes)
    for (const Cut& cut : cuts_of(propagation, node)) (cut.is_large ? some_are : some_are_not) = true;
  return some_are && some_are_not;
}

}  // namespace shardlab::spmd
