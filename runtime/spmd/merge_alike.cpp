#include "runtime/spmd/merge_alike.h"

#include <algorithm>
#include <map>

#include "runtime/graph/host_callback.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {
namespace {

// Constants have a copy for each user, and keep it; what is made of such copies is the same for all that.
class Merger {
 public:
  explicit Merger(const Propagation& from) : from_(from), to_(from.graph, from.values, from.origins), numbers_(from.graph.values.size()) {}

  Propagation run() {
    const Graph& graph = from_.graph;
    const std::vector<bool> constant = constant_expressions(graph);
    for (ValueId id : graph.params) {
      to_.copy_param(id);
      numbers_[std::size_t(id)] = next_++;
    }
    for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
      const Node& node = graph.nodes[std::size_t(n)];
      std::vector<int> operands;
      for (ValueId id : node.operands) operands.push_back(numbers_[std::size_t(id)]);
      const Node* equal = has_effects(node) || !node.attrs.bodies().empty() ? nullptr : known(node, operands);
      for (std::size_t r = 0; r < node.results.size(); ++r)
        numbers_[std::size_t(node.results[r])] = equal != nullptr ? numbers_[std::size_t(equal->results[r])] : next_++;
      if (equal != nullptr && !constant[std::size_t(n)] && !is_scalar_broadcast(graph, node)) {
        for (std::size_t r = 0; r < node.results.size(); ++r) to_.now(node.results[r]) = to_.now(equal->results[r]);
        continue;
      }
      if (equal == nullptr) made_.emplace(std::pair(node.op, std::move(operands)), &node);
      to_.copy_node(n, node);
      if (auto inner = from_.bodies.find(n); inner != from_.bodies.end()) bodies_[to_.node_now(n)] = inner->second;
    }
    return to_.as_program(from_, std::move(bodies_));
  }

 private:
  const Node* known(const Node& node, const std::vector<int>& operands) const {
    auto [first, last] = made_.equal_range({node.op, operands});
    const auto equal = std::find_if(first, last, [&](const auto& each) {
      const Node& other = *each.second;
      return other.attrs == node.attrs && std::equal(node.results.begin(), node.results.end(), other.results.begin(), other.results.end(),
                                                     [&](ValueId a, ValueId b) { return lies(a) == lies(b); });
    });
    return equal == last ? nullptr : equal->second;
  }
  const ValueSharding& lies(ValueId id) const { return from_.values[std::size_t(id)]; }

  const Propagation& from_;
  PropagationCopy to_;
  BodyPropagations bodies_;
  std::vector<int> numbers_;  // per value; equal ones have one
  int next_ = 0;
  std::multimap<std::pair<const OpDef*, std::vector<int>>, const Node*> made_;  // by the op and its operands
};

}  // namespace

Propagation with_alike_merged(const Propagation& propagation) { return Merger(propagation).run(); }

}  // namespace shardlab::spmd
