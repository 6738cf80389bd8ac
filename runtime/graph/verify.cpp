// Checks the invariants of a graph.
#include <algorithm>

#include "runtime/graph/graph.h"

namespace shardlab {
namespace {

void verify_values(const Graph& graph) {
  int value_count = int(graph.values.size());
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    ValueId id = graph.params[i];
    SL_CHECK(id >= 0 && id < value_count, "parameter {} names value {}, of {}", i, id, value_count);
    SL_CHECK(graph.values[id].producer == -1, "parameter {} is made by node {}", i, graph.values[id].producer);
    SL_CHECK(graph.values[id].result_index == int(i), "parameter {} says it is parameter {}", i, graph.values[id].result_index);
  }
  for (const Value& value : graph.values)
    for (std::int64_t size : value.type.shape) SL_CHECK(size >= 0, "a value has shape {}", text_of(value.type.shape));
  for (ValueId id : graph.results) SL_CHECK(id >= 0 && id < value_count, "a result names value {}, of {}", id, value_count);
}

void verify_node(const Graph& graph, NodeId index, const std::vector<bool>& defined) {
  const Node& node = graph.nodes[index];
  SL_CHECK(node.op != nullptr, "node {} has no op", index);
  const OpDef& op = *node.op;
  SL_CHECK(op.is_primitive(), "node {}: {} is no primitive", index, op.name);
  int count = int(node.operands.size());
  SL_CHECK(count >= op.operands_min && (op.operands_max < 0 || count <= op.operands_max), "node {}: {} has {} operands", index, op.name,
           count);
  for (ValueId id : node.operands)
    SL_CHECK(id >= 0 && id < int(defined.size()) && defined[id], "node {}: {} uses value {} before it is made", index, op.name, id);
  SL_CHECK((op.region == RegionKind::kNone) == node.attrs.bodies().empty(), "node {}: {} has {} bodies", index, op.name,
           node.attrs.bodies().size());
  for (const GraphRef& body : node.attrs.bodies()) verify(*body);
  std::vector<TensorType> types;
  try {
    types = op.infer(op, graph.types(node.operands), node.attrs);
  } catch (const UserError& error) {
    throw InternalError(fmt::format("node {}: {} is refused by its shape rule: {}", index, op.name, error.what()));
  }
  SL_CHECK(types.size() == node.results.size(), "node {}: {} has {} results, its shape rule gives {}", index, op.name, node.results.size(),
           types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    ValueId id = node.results[i];
    SL_CHECK(id >= 0 && id < int(defined.size()) && !defined[id], "node {}: {} makes value {}, which is made already", index, op.name, id);
    const Value& value = graph.values[id];
    SL_CHECK(value.producer == index && value.result_index == int(i), "node {}: {}: value {} says that node {} makes it", index, op.name,
             id, value.producer);
    SL_CHECK(value.type == types[i], "node {}: {}: value {} is {}, the shape rule gives {}", index, op.name, id, value.type.text(),
             types[i].text());
  }
}

}  // namespace

void verify(const Graph& graph) {
  verify_values(graph);
  std::vector<bool> defined(graph.values.size(), false);
  for (ValueId id : graph.params) defined[id] = true;
  for (NodeId index = 0; index < NodeId(graph.nodes.size()); ++index) {
    verify_node(graph, index, defined);
    for (ValueId id : graph.nodes[index].results) defined[id] = true;
  }
  for (ValueId id : graph.results) SL_CHECK(defined[id], "result value {} is never made", id);
}

}  // namespace shardlab
