#include "runtime/transform/batch.h"

#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/transform/region.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

std::vector<Batched> batch_node(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, std::int64_t size) {
  std::vector<Batched> results;
  if (std::all_of(operands.begin(), operands.end(), [](const Batched& x) { return x.dim == kNotBatched; })) {
    std::vector<ValueId> ids;
    for (const Batched& x : operands) ids.push_back(x.value);
    for (ValueId id : b.emit(*node.op, ids, node.attrs)) results.push_back({id, kNotBatched});
    return results;
  }
  if (has_bodies(node)) return emit_region_batch(b, node, operands, size);
  BatchRule rule = node.op->batch;
  if (rule == nullptr && node.op->elementwise && !node.op->is_constraint) rule = ops::batch_elementwise;
  if (rule == nullptr) throw_no_rule(node, "Batching rule", "the op cannot be vmapped; loop over the batch instead");
  results = rule(b, {*node.op, node.attrs, operands, size});
  SL_CHECK(results.size() == node.results.size(), "{}: its batch rule gives {} results for {}", node.op->name, results.size(),
           node.results.size());
  return results;
}

void check_result(const Graph& graph, const Node& node, GraphBuilder& b, std::size_t index, const Batched& result, std::int64_t size) {
  Shape shape = b.shape(result.value);
  if (result.dim != kNotBatched) {
    SL_CHECK(result.dim < int(shape.size()) && shape[std::size_t(result.dim)] == size,
             "{}: its batch rule gives {} with batch dimension {}", node.op->name, text_of(shape), result.dim);
    shape.erase(shape.begin() + result.dim);
  }
  const TensorType& type = graph.type(node.results[index]);
  SL_CHECK(shape == type.shape && b.type(result.value).dtype == type.dtype, "{}: its batch rule gives {} for an element {}", node.op->name,
           b.type(result.value).text(), type.text());
}

}  // namespace

std::vector<Batched> emit_batched(GraphBuilder& b, const Graph& graph, const std::vector<Batched>& args, std::int64_t size) {
  SL_CHECK(args.size() == graph.params.size(), "{} arguments for {} parameters", args.size(), graph.params.size());
  std::vector<Batched> values(graph.values.size());
  for (std::size_t i = 0; i < args.size(); ++i) values[std::size_t(graph.params[i])] = args[i];
  for (const Node& node : graph.nodes) {
    with_place(b, node, [&] {
      std::vector<Batched> operands;
      for (ValueId id : node.operands) operands.push_back(values[std::size_t(id)]);
      std::vector<Batched> results = batch_node(b, node, operands, size);
      for (std::size_t i = 0; i < results.size(); ++i) {
        check_result(graph, node, b, i, results[i], size);
        values[std::size_t(node.results[i])] = results[i];
      }
    });
  }
  b.set_place({}, "");
  std::vector<Batched> results;
  for (ValueId id : graph.results) results.push_back(values[std::size_t(id)]);
  return results;
}

Graph batch(const Graph& graph, const std::vector<int>& in_dims, const std::vector<int>& out_dims, std::int64_t size, Where where) {
  GraphBuilder b(graph.name, config_for(graph));
  std::vector<Batched> args;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    TensorType type = graph.type(graph.params[i]);
    if (in_dims[i] != kNotBatched) type.shape.insert(type.shape.begin() + in_dims[i], size);
    args.push_back({b.param(type), in_dims[i]});
  }
  std::vector<ValueId> results;
  std::vector<Batched> found = emit_batched(b, graph, args, size);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (out_dims[i] != kNotBatched) {
      results.push_back(ops::batched_at(b, found[i], out_dims[i], size));
      continue;
    }
    if (found[i].dim != kNotBatched)
      throw_user_error(
          "vmap has mapped output but out_axes is None: result {} of {} depends on the batch; give it an out_axis, or reduce over the "
          "batch "
          "outside [{}]",
          i, graph.name, where.text());
    results.push_back(found[i].value);
  }
  b.set_results(std::move(results));
  return without_dead_nodes(b.finish());
}

}  // namespace shardlab::transform
