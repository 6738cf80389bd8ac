#include "runtime/transform/linearize.h"

#include <algorithm>

namespace shardlab::transform {
namespace {

// Cuts a graph in two: what depends on some of its parameters becomes the linear graph, the rest is emitted.
class Split {
 public:
  Split(GraphBuilder& b, const Graph& source) : b_(b), source_(source), known_(source), linear_(source), varies_(source.values.size()) {}

  void known_param(ValueId id, ValueId value) { known_[id] = value; }
  void tangent_param(ValueId id) {
    linear_[id] = rest_.param(source_.type(id));
    varies_[std::size_t(id)] = true;
  }

  void run() {
    for (const Node& node : source_.nodes) {
      bool varies = std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return varies_[std::size_t(id)]; });
      if (!varies) {
        emit_node(b_, node, known_);
        continue;
      }
      linear_nodes_.push_back(&node);
      for (ValueId id : node.results) varies_[std::size_t(id)] = true;
    }
    b_.set_place({}, "");
  }

  // The linear graph of what these values need, and its residuals.
  Linearized finish(const std::vector<ValueId>& results, const std::vector<ValueId>& tangents) {
    Linearized out;
    out.results = known_.of(results);
    for (const Node* node : needed(tangents)) {
      for (ValueId id : node->operands)
        if (!varies_[std::size_t(id)] && linear_[id] == kZero) {
          linear_[id] = rest_.param(source_.type(id));
          out.residuals.push_back(known_[id]);
        }
      emit_node(rest_, *node, linear_);
    }
    std::vector<ValueId> linear_results;
    for (ValueId id : tangents) {
      if (id == kZero) {
        out.tangent_of.push_back(-1);
        continue;
      }
      if (linear_[id] == kZero) {  // a tangent that does not depend on the parameters' tangents: a rule made zeros
        linear_[id] = rest_.param(source_.type(id));
        out.residuals.push_back(known_[id]);
      }
      out.tangent_of.push_back(int(linear_results.size()));
      linear_results.push_back(linear_[id]);
    }
    rest_.set_results(std::move(linear_results));
    out.linear = rest_.finish();
    return out;
  }

 private:
  std::vector<const Node*> needed(const std::vector<ValueId>& tangents) const {
    std::vector<bool> wanted(source_.values.size(), false);
    for (ValueId id : tangents)
      if (id != kZero) wanted[std::size_t(id)] = true;
    std::vector<const Node*> nodes;
    for (auto node = linear_nodes_.rbegin(); node != linear_nodes_.rend(); ++node) {
      const auto& results = (*node)->results;
      if (std::none_of(results.begin(), results.end(), [&](ValueId id) { return wanted[std::size_t(id)]; })) continue;
      for (ValueId id : (*node)->operands) wanted[std::size_t(id)] = true;
      nodes.push_back(*node);
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  GraphBuilder& b_;
  const Graph& source_;
  GraphBuilder rest_{"linear"};
  Renaming known_, linear_;
  std::vector<bool> varies_;  // depends on tangents
  std::vector<const Node*> linear_nodes_;
};

}  // namespace

Linearized linearize(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, const std::vector<bool>& active) {
  SL_CHECK(args.size() == graph.params.size() && active.size() == args.size(), "{} arguments for {} parameters", args.size(),
           graph.params.size());
  GraphBuilder both(graph.name);
  std::vector<ValueId> primals, tangents;
  for (ValueId id : graph.params) primals.push_back(both.param(graph.type(id)));
  for (std::size_t i = 0; i < primals.size(); ++i) tangents.push_back(active[i] ? both.param(both.type(primals[i])) : kZero);
  WithTangents out = emit_jvp(both, graph, primals, tangents);
  Graph source = both.finish();
  Split split(b, source);
  for (std::size_t i = 0; i < primals.size(); ++i) {
    split.known_param(primals[i], args[i]);
    if (tangents[i] != kZero) split.tangent_param(tangents[i]);
  }
  split.run();
  return split.finish(out.results, out.tangents);
}

}  // namespace shardlab::transform
