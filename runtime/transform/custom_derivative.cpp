// Functions whose derivative is their user's: custom_jvp and custom_vjp.
//
// Source: jax.custom_jvp and jax.custom_vjp. Of a function with a backward pass of its own the tangents are a node that nobody can compute;
// reverse mode turns it round into the backward pass, and forward mode is refused where such a node is left.
#include <algorithm>

#include "runtime/graph/custom_derivative.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/batch.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

bool has_tangent(const Graph& graph, ValueId id) { return ops::has_tangent(graph.type(id).dtype); }

void check_captured(const CustomDerivative& custom, const Node& node, const std::vector<ValueId>& tangents) {
  const std::string_view kind = custom.jvp ? "custom_jvp" : "custom_vjp";
  for (std::size_t i = tangents.size() - custom.captured; i < tangents.size(); ++i)
    if (tangents[i] != kZero)
      throw_user_error(
          "Detected differentiation of a {0} function with respect to a closed-over value. That isn't supported because the custom rule "
          "only specifies how to differentiate the {0} function with respect to explicit input parameters. Try passing the closed-over "
          "value into the {0} function as an argument, and adapting the rule: '{1}' takes a value from around it that varies [{2}]",
          kind, custom.name, node.where.text());
}

}  // namespace

WithTangents custom_jvp(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands, const std::vector<ValueId>& tangents) {
  const GraphRef& body = node.attrs.bodies()[0];
  const CustomDerivative* custom = derivative_of(body);
  if (custom == nullptr) return emit_jvp(b, *body, operands, tangents);
  check_captured(*custom, node, tangents);
  const std::size_t own = operands.size() - custom->captured, count = node.results.size();
  WithTangents out;
  auto tangent_of = [&](std::size_t i) { return ops::instantiated(b, tangents[i], b.type(operands[i])); };
  if (custom->instead) {
    std::vector<ValueId> all;
    for (std::size_t i = 0; i < own; ++i) all.push_back(tangent_of(i));
    all.resize(operands.size(), kZero);
    return emit_jvp(b, custom->instead(), operands, all);
  }
  if (custom->jvp) {
    std::vector<ValueId> args = operands;
    for (std::size_t i = 0; i < own; ++i) args.push_back(tangent_of(i));
    std::vector<ValueId> all = emit_graph(b, custom->jvp(), args);
    out.results.assign(all.begin(), all.begin() + std::ptrdiff_t(count));
    for (std::size_t i = 0; i < count; ++i) out.tangents.push_back(has_tangent(*body, body->results[i]) ? all[count + i] : kZero);
    return out;
  }
  CustomDerivative::Passes passes = custom->vjp();
  std::vector<ValueId> all = emit_graph(b, passes.forward, operands);
  b.set_place_of(node);
  out.results.assign(all.begin(), all.begin() + std::ptrdiff_t(count));
  std::vector<ValueId> inputs(all.begin() + std::ptrdiff_t(count), all.end());
  Attrs attrs{{"num_residuals", std::int64_t(inputs.size())}, {"bodies", Bodies{body_ref(std::move(passes.backward))}}};
  for (std::size_t i = 0; i < own; ++i)
    if (has_tangent(*body, body->params[i])) inputs.push_back(tangent_of(i));
  std::vector<ValueId> made = b.emit(ops::kCustomVjpTangents, inputs, attrs);
  std::size_t next = 0;
  for (ValueId id : body->results) out.tangents.push_back(has_tangent(*body, id) ? made.at(next++) : kZero);
  return out;
}

RegionSplit split_whole(const Node& node, const std::vector<ValueId>& known) {
  RegionSplit out;
  for (std::size_t i = 0; i < known.size(); ++i)
    out.operands.push_back(known[i] == kZero ? RegionSplit::LinearOperand{int(i), kZero} : RegionSplit::LinearOperand{-1, known[i]});
  for (std::size_t i = 0; i < node.results.size(); ++i) out.results.push_back(int(i));
  out.known_results.assign(node.results.size(), kZero);
  out.op = node.op;
  out.attrs = node.attrs;
  return out;
}

std::vector<ValueId> transpose_custom_tangents(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                               const std::vector<ValueId>& cotangents) {
  const Graph& backward = *node.attrs.bodies()[0];
  const auto residuals = std::size_t(node.attrs.integer("num_residuals"));
  std::vector<ValueId> args(operands.begin(), operands.begin() + std::ptrdiff_t(residuals)), asked;
  SL_CHECK(std::find(args.begin(), args.end(), kAsked) == args.end(), "{}: a residual that varies", node.op->name);
  for (std::size_t i = 0; i < cotangents.size(); ++i)
    args.push_back(ops::instantiated(b, cotangents[i], backward.type(backward.params[residuals + i])));
  std::vector<ValueId> found = emit_graph(b, backward, args);
  for (std::size_t i = residuals; i < operands.size(); ++i)
    if (operands[i] == kAsked) asked.push_back(found[i - residuals]);
  return asked;
}

namespace {

std::vector<int> repeated(int value, std::size_t count) { return std::vector<int>(count, value); }

// The backward pass for a whole batch: residuals and cotangents have it first, and so do cotangents, but those of parameters that are the
// same for all elements, which are summed.
Graph batched_backward(const Graph& backward, const std::vector<int>& residual_dims, const std::vector<int>& param_dims,
                       const BatchAxis& axis) {
  GraphBuilder b(backward.name, config_for(backward));
  std::vector<Batched> args;
  for (std::size_t i = 0; i < backward.params.size(); ++i) {
    int dim = i < residual_dims.size() ? residual_dims[i] : 0;
    TensorType type = backward.type(backward.params[i]);
    if (dim != kNotBatched) type.shape.insert(type.shape.begin() + dim, axis.size);
    args.push_back({b.param(type), dim});
  }
  std::vector<ValueId> results;
  std::vector<Batched> found = emit_batched(b, backward, args, axis);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ValueId value = ops::batched_at(b, found[i], std::max(param_dims[i], 0), axis.size);
    if (param_dims[i] == kNotBatched) value = b.emit1(ops::kReduceSum, {value}, Attrs{{"axes", std::vector<std::int64_t>{0}}});
    results.push_back(value);
  }
  b.set_results(std::move(results));
  return without_dead_nodes(b.finish());
}

CustomDerivative batched(const CustomDerivative& custom, const Graph& body, const std::vector<int>& dims, const BatchAxis& axis) {
  const std::size_t own = dims.size() - custom.captured, count = body.results.size();
  CustomDerivative out{custom.name, custom.captured};
  if (custom.jvp)
    out.jvp = [jvp = custom.jvp, name = custom.name, dims, own, count, axis] {
      std::vector<int> in = dims;
      in.insert(in.end(), dims.begin(), dims.begin() + std::ptrdiff_t(own));
      return batch(jvp(), in, repeated(0, 2 * count), axis);
    };
  if (custom.instead)
    out.instead = [instead = custom.instead, dims, count, axis] { return batch(instead(), dims, repeated(0, count), axis); };
  std::vector<int> param_dims;
  for (std::size_t i = 0; i < own; ++i)
    if (has_tangent(body, body.params[i])) param_dims.push_back(dims[i]);
  if (custom.vjp)
    out.vjp = [vjp = custom.vjp, dims, param_dims, count, axis] {
      CustomDerivative::Passes passes = vjp();
      std::size_t residuals = passes.forward.results.size() - count;
      passes.forward = batch(passes.forward, dims, repeated(0, count + residuals), axis);
      passes.backward = batched_backward(passes.backward, repeated(0, residuals), param_dims, axis);
      return passes;
    };
  return out;
}

}  // namespace

std::vector<Batched> batch_custom(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  const GraphRef& body = node.attrs.bodies()[0];
  std::vector<int> dims;
  std::vector<ValueId> values;
  for (const Batched& each : operands) {
    dims.push_back(each.dim);
    values.push_back(each.value);
  }
  Graph all = without_dead_nodes(body_batch(*body, dims, axis, std::vector<bool>(body->results.size(), true)).graph);
  const CustomDerivative* custom = derivative_of(body);
  GraphRef wide = custom != nullptr ? with_derivative(std::move(all), batched(*custom, *body, dims, axis)) : body_ref(std::move(all));
  Attrs attrs = node.attrs;
  std::vector<Batched> results;
  for (ValueId id : b.emit(*node.op, values, attrs.set("bodies", Bodies{wide}))) results.push_back({id, 0});
  return results;
}

std::vector<Batched> batch_custom_tangents(GraphBuilder& b, const Node& node, const std::vector<Batched>& operands, const BatchAxis& axis) {
  const auto residuals = std::size_t(node.attrs.integer("num_residuals"));
  std::vector<int> residual_dims;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i < residuals) residual_dims.push_back(operands[i].dim);
    values.push_back(i < residuals ? operands[i].value : ops::batched_at(b, operands[i], 0, axis.size));
  }
  const Graph& backward = *node.attrs.bodies()[0];
  Attrs attrs = node.attrs;
  attrs.set("bodies", Bodies{body_ref(batched_backward(backward, residual_dims, repeated(0, backward.results.size()), axis))});
  std::vector<Batched> results;
  for (ValueId id : b.emit(*node.op, values, attrs)) results.push_back({id, 0});
  return results;
}

}  // namespace shardlab::transform
