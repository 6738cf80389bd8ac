#include "runtime/exec/explicit_asked.h"

#include "runtime/ops/region_types.h"

namespace shardlab {
namespace {

bool asks(const Node& node) {
  if (node.op == &ops::kEnterAutoAxes) return node.attrs.flag("is_gradient") && node.operands[0] != node.operands[1];
  const bool only_reshards = node.attrs.has("reshards") && node.attrs.string("reshards") == kReshard;
  return node.op->is_constraint && !node.attrs.flag("assertion") && !only_reshards;
}

}  // namespace

std::vector<bool> asked_for(const Graph& graph, const std::vector<bool>& has_out_sharding) {
  std::vector<bool> asked(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.results.size() && i < has_out_sharding.size(); ++i)
    if (has_out_sharding[i]) asked[std::size_t(graph.results[i])] = true;
  for (const Node& node : graph.nodes)
    if (asks(node)) asked[std::size_t(node.operands[0])] = true;
  return asked;
}

}  // namespace shardlab
