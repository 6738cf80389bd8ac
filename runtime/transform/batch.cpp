#include "runtime/transform/batch.h"

#include <algorithm>

#include "runtime/ops/calls.h"
#include "runtime/ops/derive.h"
#include "runtime/transform/region.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

// Whether a collective of the node, or in its bodies, runs over the axis.
bool names_axis(const Node& node, const std::string& name) {
  if (name.empty()) return false;
  if (node.op->member) {
    const auto& axes = node.attrs.strings("axis_name");
    return std::find(axes.begin(), axes.end(), name) != axes.end();
  }
  const Bodies& bodies = node.attrs.bodies();
  return std::any_of(bodies.begin(), bodies.end(), [&](const GraphRef& body) {
    return std::any_of(body->nodes.begin(), body->nodes.end(), [&](const Node& each) { return names_axis(each, name); });
  });
}

std::vector<Batched> batch_node(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  std::vector<Batched> results;
  if (!names_axis(node, axis.name) &&
      std::all_of(operands.begin(), operands.end(), [](const Batched& x) { return x.dim == kNotBatched; })) {
    std::vector<ValueId> ids;
    for (const Batched& x : operands) ids.push_back(x.value);
    for (ValueId id : b.emit(*node.op, ids, node.attrs)) results.push_back({id, kNotBatched});
    return results;
  }
  if (has_bodies(node)) return emit_region_batch(b, node, operands, axis);
  BatchRule rule = node.op->batch;
  if (rule == nullptr && node.op->elementwise && !node.op->is_constraint) rule = ops::batch_elementwise;
  if (rule == nullptr) throw_no_rule(node, "Batching rule", "the op cannot be vmapped; loop over the batch instead");
  results = rule(b, {*node.op, node.attrs, operands, axis.size, axis});
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

std::vector<Batched> emit_batched(GraphBuilder& b, const Graph& graph, const std::vector<Batched>& args, const BatchAxis& axis) {
  SL_CHECK(args.size() == graph.params.size(), "{} arguments for {} parameters", args.size(), graph.params.size());
  std::vector<Batched> values(graph.values.size());
  for (std::size_t i = 0; i < args.size(); ++i) values[std::size_t(graph.params[i])] = args[i];
  for (const Node& node : graph.nodes) {
    with_place(b, node, [&] {
      std::vector<Batched> operands;
      for (ValueId id : node.operands) operands.push_back(values[std::size_t(id)]);
      std::vector<Batched> results = batch_node(b, node, operands, axis);
      for (std::size_t i = 0; i < results.size(); ++i) {
        check_result(graph, node, b, i, results[i], axis.size);
        values[std::size_t(node.results[i])] = results[i];
      }
    });
  }
  b.set_place({}, "");
  std::vector<Batched> results;
  for (ValueId id : graph.results) results.push_back(values[std::size_t(id)]);
  return results;
}

Graph batch(const Graph& graph, const std::vector<int>& in_dims, const std::vector<int>& out_dims, const BatchAxis& axis,
            const BatchSite& site) {
  GraphBuilder b(graph.name, config_for(graph));
  std::vector<Batched> args;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    TensorType type = graph.type(graph.params[i]);
    if (in_dims[i] != kNotBatched) type.shape.insert(type.shape.begin() + in_dims[i], axis.size);
    args.push_back({b.param(type), in_dims[i]});
  }
  std::vector<ValueId> results;
  std::vector<Batched> found = emit_batched(b, graph, args, axis);
  auto first = args.end();
  if (site.is_typed) first = std::find_if(args.begin(), args.end(), [](const Batched& x) { return x.dim != kNotBatched; });
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (out_dims[i] != kNotBatched) {
      ValueId result = ops::batched_at(b, found[i], out_dims[i], axis.size);
      if (first != args.end() && found[i].dim == kNotBatched)
        result = b.emit1(ops::kCutAsBatch, {result, first->value},
                         Attrs{{"dim", std::int64_t(out_dims[i])}, {"like_dim", std::int64_t(first->dim)}});
      results.push_back(result);
      continue;
    }
    if (found[i].dim != kNotBatched) {
      const std::string path = i < site.result_paths.size() ? site.result_paths[i] : std::string();
      const std::string what =
          axis.name.empty() ? fmt::format("at vmap out_axes{}, got axis spec None but output was batched on axis {}", path, found[i].dim)
                            : fmt::format("vmap has mapped output (axis_name={}) but out_axes is None", axis.name);
      throw_user_error("{}: result{} of {} depends on the batch; give it an out_axis, or reduce it over the batch [{}]", what, path,
                       graph.name, site.where.text());
    }
    results.push_back(found[i].value);
  }
  b.set_results(std::move(results));
  return without_dead_nodes(b.finish());
}

}  // namespace shardlab::transform
