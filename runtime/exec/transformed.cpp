#include "runtime/exec/transformed.h"

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/run_graph.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/grad.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/typed_cotangents.h"

namespace shardlab {
namespace {

// The graph of a function on these arguments, its captured arrays as further parameters.
TracedBody capture(const ArrayFunction& function, const std::vector<Array>& args, const std::string& name, Where where) {
  check_args(args, name, where);
  Context& context = Context::current();
  return Tracer::trace_body(context, name, types_of(args), function, nullptr, mesh_of_arrays(context, args, name, where), weak_types(args),
                            types_like(args), TracedAs::kOpByOp);
}

// Gradients are as weak as the arguments that they are of.
std::vector<bool> weak_active(const std::vector<Array>& args, const std::vector<bool>& active) {
  std::vector<bool> weak;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (active[i]) weak.push_back(weak_type(args[i]));
  return weak;
}

// Per parameter of a captured graph: those captured are constants.
std::vector<bool> active_of(const TransformOptions& options, const TracedBody& body) {
  std::vector<bool> active = options.active;
  active.resize(body.graph.params.size(), false);
  return active;
}

void check_count(std::size_t given, std::size_t wanted, std::string_view what, std::string_view of, const TransformOptions& options) {
  if (given != wanted)
    throw_user_error("{} of {}: got {} {}, wanted {}, one for each {} [{}]", what, options.name, given, what, wanted, of,
                     options.where.text());
}

// The checks have JAX's texts.
void check_jvp_tangents(const std::vector<Array>& tangents, const std::vector<TensorType>& primals, const TransformOptions& options) {
  check_count(tangents.size(), primals.size(), "tangents", "argument", options);
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    const TensorType given = tangents[i].type(), &wanted = primals[i];
    if (given.dtype != wanted.dtype)
      throw_user_error(
          "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal dtype the tangent "
          "dtype must be float0.Got primal dtype {0} and so expected tangent dtype {0}, but got tangent dtype {1} instead. (argument {2} "
          "of {3}) [{4}]",
          name_of(wanted.dtype), name_of(given.dtype), i, options.name, options.where.text());
    if (given.shape != wanted.shape)
      throw_user_error(
          "jvp called with different primal and tangent shapes;Got primal shape {} and tangent shape as {} (argument {} of {}) [{}]",
          text_of(wanted.shape), text_of(given.shape), i, options.name, options.where.text());
  }
}

void check_linear_tangents(const std::vector<Array>& tangents, const std::vector<TensorType>& primals, const TransformOptions& options) {
  check_count(tangents.size(), primals.size(), "tangents", "argument", options);
  for (std::size_t i = 0; i < tangents.size(); ++i)
    if (tangents[i].type() != primals[i])
      throw_user_error(
          "linearized function called on tangent values inconsistent with the original primal values:\nGot tangent aval {0} for primal "
          "aval {1} but expected {1}. (argument {2} of {3}) [{4}]",
          tangents[i].type().text(), primals[i].text(), i, options.name, options.where.text());
}

// Results of integers have no cotangent: what stands for it is not looked at.
void check_cotangents(const std::vector<Array>& cotangents, const std::vector<TensorType>& results, const TransformOptions& options) {
  check_count(cotangents.size(), results.size(), "cotangents", "result", options);
  for (std::size_t i = 0; i < cotangents.size(); ++i)
    if (ops::has_tangent(results[i].dtype) && cotangents[i].type() != results[i])
      throw_user_error(
          "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got {0}, but expected {1} because the corresponding output "
          "of the differentiated function had JAX type {1} (result {2} of {3}) [{4}]",
          cotangents[i].type().text(), results[i].text(), i, options.name, options.where.text());
}

void check_inexact(const std::vector<Array>& args, std::string_view what, const TransformOptions& options) {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (options.active[i] && !ops::has_tangent(args[i].dtype()))
      throw_user_error(
          "{} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got {}. Argument {} of {} is "
          "{}; convert it to float32, or leave it constant [{}]",
          what, name_of(args[i].dtype()), i, options.name, args[i].type().text(), options.where.text());
}

bool are_typed(const std::vector<Array>& args, const TransformOptions& options) {
  const auto mesh = mesh_of_arrays(Context::current(), args, options.name, options.where);
  return mesh && mesh->has_explicit_axes();
}

// Where shardings are in types a gradient has its argument's type. The gradients are the results from `first` on; `like`: the arguments, -1
// where one is gone.
Graph with_gradients_typed(Graph graph, std::size_t first, const std::vector<ValueId>& like, Where where) {
  for (ValueId argument : like) {
    ValueId& gradient = graph.results[first++];
    if (argument < 0) continue;
    const auto typed = ValueId(graph.values.size());
    graph.values.push_back({graph.type(gradient), NodeId(graph.nodes.size()), 0});
    graph.nodes.push_back({&ops::kEnterAutoAxes, {gradient, argument}, {typed}, Attrs{{"is_gradient", true}}, where, "grad"});
    gradient = typed;
  }
  return graph;
}

// Runs a backward pass whose gradients have the types of the arguments that are left.
std::vector<Array> pulled_typed(Graph backward, std::vector<Array> params, const std::vector<Array>& like, Where where) {
  std::vector<ValueId> arguments;
  for (const Array& argument : like) {
    if (argument.impl()->deleted) {
      arguments.push_back(-1);
      continue;
    }
    arguments.push_back(ValueId(backward.values.size()));
    backward.params.push_back(arguments.back());
    backward.values.push_back({argument.type(), -1, int(backward.params.size()) - 1});
    params.push_back(argument);
  }
  return run_graph_by_ops(with_gradients_typed(std::move(backward), 0, arguments, where), params, where);
}

}  // namespace

std::vector<Array> value_and_grad_of(const ArrayFunction& function, const std::vector<Array>& args, const TransformOptions& options) {
  check_args(args, options.name, options.where);
  check_inexact(args, "grad", options);
  TracedBody body = capture(function, args, options.name, options.where);
  const bool typed = are_typed(args, options);
  if (typed) body.graph = transform::with_typed_cotangents(body.graph);
  Graph graph = transform::value_and_grad(body.graph, active_of(options, body), options.name, options.where, options.holomorphic);
  if (typed) {
    std::vector<ValueId> like;
    for (std::size_t i = 0; i < args.size(); ++i)
      if (options.active[i]) like.push_back(graph.params[i]);
    graph = with_gradients_typed(std::move(graph), body.graph.results.size(), like, options.where);
  }
  std::vector<bool> weak = body.weak_results, gradients = weak_active(args, options.active);
  weak.insert(weak.end(), gradients.begin(), gradients.end());
  std::vector<Array> results = run_graph_by_ops(graph, joined(args, body.captured), options.where);
  set_weak(results, weak);
  return results;
}

WithTangents jvp_of(const ArrayFunction& function, const std::vector<Array>& args, const std::vector<Array>& tangents,
                    const TransformOptions& options) {
  check_args(args, options.name, options.where);
  check_inexact(args, "jvp", options);
  std::vector<TensorType> wanted;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (options.active[i]) wanted.push_back(args[i].type());
  check_jvp_tangents(tangents, wanted, options);
  TracedBody body = capture(function, args, options.name, options.where);
  if (are_typed(args, options)) body.graph = transform::with_typed_tangents(body.graph);
  Graph graph = transform::jvp(body.graph, active_of(options, body));
  std::vector<Array> all = run_graph_by_ops(graph, joined(joined(args, body.captured), tangents), options.where);
  WithTangents out;
  std::size_t count = body.graph.results.size(), next = count;
  for (std::size_t i = 0; i < count; ++i) {
    out.results.push_back(all[i]);
    out.tangents.push_back(ops::has_tangent(all[i].dtype()) ? all[next++] : zeros_like(Operand(all[i], options.where)));
  }
  set_weak(out.results, body.weak_results);
  set_weak(out.tangents, body.weak_results);
  return out;
}

Differential differential_of(const ArrayFunction& function, const std::vector<Array>& args, const TransformOptions& options) {
  check_args(args, options.name, options.where);
  check_inexact(args, "vjp", options);
  TracedBody body = capture(function, args, options.name, options.where);
  const bool typed = are_typed(args, options);
  if (typed) body.graph = transform::with_typed_cotangents(body.graph);
  auto pullback = std::make_shared<transform::Pullback>(transform::pullback(body.graph, active_of(options, body)));
  std::vector<Array> all = run_graph_by_ops(pullback->forward, joined(args, body.captured), options.where);
  std::size_t count = body.graph.results.size();
  std::vector<Array> residuals(all.begin() + std::ptrdiff_t(count), all.end());
  Differential out;
  out.results.assign(all.begin(), all.begin() + std::ptrdiff_t(count));
  set_weak(out.results, body.weak_results);
  std::vector<TensorType> result_types = types_of(out.results), active_types;
  const std::vector<bool> weak_results = body.weak_results, weak_args = weak_active(args, options.active);
  for (std::size_t i = 0; i < args.size(); ++i)
    if (options.active[i]) active_types.push_back(args[i].type());
  std::vector<Array> like;  // what types say of the gradients
  if (typed)
    for (std::size_t i = 0; i < args.size(); ++i)
      if (options.active[i]) like.push_back(args[i]);
  out.pull = [pullback, residuals, result_types, weak_args, like, options](const std::vector<Array>& cotangents) {
    check_cotangents(cotangents, result_types, options);
    std::vector<Array> params = residuals;
    for (int i : pullback->cotangents) params.push_back(cotangents[std::size_t(i)]);
    std::vector<Array> found = like.empty() ? run_graph_by_ops(pullback->backward, params, options.where)
                                            : pulled_typed(pullback->backward, std::move(params), like, options.where);
    set_weak(found, weak_args);
    return found;
  };
  out.push = [pullback, residuals, result_types, weak_results, active_types, options](const std::vector<Array>& tangents) {
    check_linear_tangents(tangents, active_types, options);
    std::vector<Array> found = run_graph_by_ops(pullback->linear, joined(tangents, residuals), options.where), results(result_types.size());
    for (std::size_t i = 0; i < found.size(); ++i) results[std::size_t(pullback->cotangents[i])] = found[i];
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!results[i].valid()) results[i] = zeros(result_types[i].shape, result_types[i].dtype);
    set_weak(results, weak_results);
    return results;
  };
  return out;
}

}  // namespace shardlab
