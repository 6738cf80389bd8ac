#include "runtime/transform/inline.h"

namespace shardlab::transform {

std::vector<ValueId> Renaming::of(const std::vector<ValueId>& ids) const {
  std::vector<ValueId> result;
  result.reserve(ids.size());
  for (ValueId id : ids) {
    ValueId renamed = (*this)[id];
    SL_CHECK(renamed >= 0, "value {} is used before it is emitted", id);
    result.push_back(renamed);
  }
  return result;
}

void emit_node(GraphBuilder& b, const Node& node, Renaming& renamed) {
  b.set_place(node.where, node.user_op);
  std::vector<ValueId> results = b.emit(*node.op, renamed.of(node.operands), node.attrs);
  for (std::size_t i = 0; i < results.size(); ++i) renamed[node.results[i]] = results[i];
}

std::vector<ValueId> emit_graph(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args) {
  SL_CHECK(args.size() == graph.params.size(), "{} arguments for {} parameters", args.size(), graph.params.size());
  Renaming renamed(graph);
  for (std::size_t i = 0; i < args.size(); ++i) renamed[graph.params[i]] = args[i];
  for (const Node& node : graph.nodes) emit_node(b, node, renamed);
  b.set_place({}, "");
  return renamed.of(graph.results);
}

void throw_no_rule(const Node& node, std::string_view what, std::string_view advice) {
  std::string user = node.user_op.empty() || node.user_op == node.op->name ? "" : fmt::format(" (from '{}')", node.user_op);
  throw_user_error("{} for '{}'{} not implemented: {} [{}]", what, node.op->name, user, advice, node.where.text());
}

}  // namespace shardlab::transform
