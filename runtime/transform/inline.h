// Emits one graph's nodes into another that is being built.
#pragma once

#include <functional>

#include "runtime/base/at_place.h"
#include "runtime/graph/builder.h"

namespace shardlab::transform {

// The values of a graph by what they are in another: kZero where they are not (yet) there.
class Renaming {
 public:
  explicit Renaming(const Graph& graph) : ids_(graph.values.size(), kZero) {}
  ValueId& operator[](ValueId id) { return ids_[std::size_t(id)]; }
  ValueId operator[](ValueId id) const { return ids_[std::size_t(id)]; }
  void grow(std::size_t count) { ids_.resize(ids_.size() + count, kZero); }
  std::vector<ValueId> of(const std::vector<ValueId>& ids) const;

 private:
  std::vector<ValueId> ids_;
};

// Emits one node on renamed operands, with its user's line, and renames its results.
void emit_node(GraphBuilder& b, const Node& node, Renaming& renamed);

// Emits all nodes with `args` as the parameters; the results. Its calls are others than the graph's, and nodes without a line have that of
// the op that is expanded or transformed.
std::vector<ValueId> emit_graph(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args);

// The graph with other values in place of the only results of some nodes, and without what nobody needs any more. A replacement is emitted
// into the builder where it is not there yet.
Graph with_replaced(const Graph& graph, const std::function<bool(const Node&)>& is_replaced,
                    const std::function<ValueId(GraphBuilder&, const Node&, const Renaming&)>& replacement);
// The same of nodes with several results: a value for each, kZero where nobody uses it.
Graph with_results_replaced(const Graph& graph, const std::function<bool(const Node&)>& is_replaced,
                            const std::function<std::vector<ValueId>(GraphBuilder&, const Node&, const Renaming&)>& replacements);

// The node's attributes with a copy of its bodies, each changed. Not of a call: its body says how it is partitioned, which a copy would
// not.
Attrs with_changed_bodies(const Node& node, Graph (*change)(const Graph&));

// The graph that is partitioned: without what transformations alone see. Functions called as one node (checkpoint, custom_jvp, custom_vjp)
// stand where they were called, stop_gradient and its like are gone, in bodies too. UserError with JAX's text where tangents of a function
// with a backward pass of its own are left.
Graph without_calls(const Graph& graph);
// That error.
[[noreturn]] void throw_no_forward_mode(const Node& node);

// The error of a rule that an op lacks: "<what> for 'sort' not implemented: …" with the user's line.
[[noreturn]] void throw_no_rule(const Node& node, std::string_view what, std::string_view advice);

// Runs a rule of a node; a UserError gets the node's line.
template <typename F>
auto with_place(GraphBuilder& b, const Node& node, F&& rule) {
  b.set_place_of(node);
  return at_place(node.where, rule);
}
// The same in another call.
template <typename F>
auto with_place(GraphBuilder& b, const Node& node, CallRef call, F&& rule) {
  b.set_place(node.where, node.user_op, std::move(call));
  return at_place(node.where, rule);
}

}  // namespace shardlab::transform
