#include "runtime/exec/transformed.h"

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/derive.h"
#include "runtime/transform/batch.h"
#include "runtime/transform/grad.h"

namespace shardlab {
namespace {

void check_args(const std::vector<Array>& args, std::string_view name, Where where) {
  for (const Array& arg : args)
    if (!arg.valid()) throw_user_error("{} at {}: an empty Array is passed; give it a value first", name, where.text());
}

std::vector<TensorType> types_of(const std::vector<Array>& arrays) {
  std::vector<TensorType> types;
  for (const Array& array : arrays) types.push_back(array.type());
  return types;
}

std::optional<Mesh> mesh_of_arrays(Context& context, const std::vector<Array>& args, const std::string& name, Where where) {
  if (context.tracer()) return context.tracer()->mesh();
  ProgramRequest request;
  request.name = name;
  request.args = args;
  request.where = where;
  return mesh_of(request, nullptr);
}

// The graph of a function on these arguments, its captured arrays as further parameters.
TracedBody capture(const ArrayFunction& function, const std::vector<Array>& args, const std::string& name, Where where) {
  check_args(args, name, where);
  Context& context = Context::current();
  return Tracer::trace_body(context, name, types_of(args), function, nullptr, mesh_of_arrays(context, args, name, where), weak_types(args));
}

// Runs a graph: inside a function being traced its nodes are emitted there; else it is a program of its own, known by its text.
std::vector<Array> run_graph(const Graph& graph, const std::vector<Array>& args, Where where) {
  Context& context = Context::current();
  if (context.tracer()) return context.tracer()->emit(graph, args, where);
  ProgramRequest request;
  request.name = graph.name;
  request.args = args;
  request.where = where;
  request.trace = [&](const std::optional<Mesh>&) { return graph; };
  return run_program(context, "graph " + print(graph) + signature_of(args), request);
}

// Gradients are as weak as the arguments that they are of.
std::vector<bool> weak_active(const std::vector<Array>& args, const std::vector<bool>& active) {
  std::vector<bool> weak;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (active[i]) weak.push_back(weak_type(args[i]));
  return weak;
}

std::vector<Array> joined(std::vector<Array> first, const std::vector<Array>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Per parameter of a captured graph: those captured are constants.
std::vector<bool> active_of(const TransformOptions& options, const TracedBody& body) {
  std::vector<bool> active = options.active;
  active.resize(body.graph.params.size(), false);
  return active;
}

void check_like(const std::vector<Array>& given, const std::vector<TensorType>& wanted, std::string_view what, std::string_view of,
                const TransformOptions& options) {
  if (given.size() != wanted.size())
    throw_user_error("{} of {}: got {} {}, wanted {}, one for each {} [{}]", what, options.name, given.size(), what, wanted.size(), of,
                     options.where.text());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].type() != wanted[i])
      throw_user_error(
          "primal and tangent arguments to jax.jvp do not match; dtypes and shapes must be equal: {} {} of {} is {}, its {} is {}; convert "
          "or "
          "reshape it [{}]",
          what, i, options.name, given[i].type().text(), of, wanted[i].text(), options.where.text());
}

void check_inexact(const std::vector<Array>& args, std::string_view what, const TransformOptions& options) {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (options.active[i] && !ops::has_tangent(args[i].dtype()))
      throw_user_error(
          "{} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got {}. Argument {} of {} is "
          "{}; "
          "convert it to float32, or leave it constant [{}]",
          what, name_of(args[i].dtype()), i, options.name, args[i].type().text(), options.where.text());
}

}  // namespace

std::vector<Array> value_and_grad_of(const ArrayFunction& function, const std::vector<Array>& args, const TransformOptions& options) {
  check_args(args, options.name, options.where);
  check_inexact(args, "grad", options);
  TracedBody body = capture(function, args, options.name, options.where);
  Graph graph = transform::value_and_grad(body.graph, active_of(options, body), options.name, options.where);
  std::vector<bool> weak = body.weak_results, gradients = weak_active(args, options.active);
  weak.insert(weak.end(), gradients.begin(), gradients.end());
  std::vector<Array> results = run_graph(graph, joined(args, body.captured), options.where);
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
  check_like(tangents, wanted, "tangents", "argument", options);
  TracedBody body = capture(function, args, options.name, options.where);
  Graph graph = transform::jvp(body.graph, active_of(options, body));
  std::vector<Array> all = run_graph(graph, joined(joined(args, body.captured), tangents), options.where);
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
  auto pullback = std::make_shared<transform::Pullback>(transform::pullback(body.graph, active_of(options, body)));
  std::vector<Array> all = run_graph(pullback->forward, joined(args, body.captured), options.where);
  std::size_t count = body.graph.results.size();
  std::vector<Array> residuals(all.begin() + std::ptrdiff_t(count), all.end());
  Differential out;
  out.results.assign(all.begin(), all.begin() + std::ptrdiff_t(count));
  set_weak(out.results, body.weak_results);
  std::vector<TensorType> result_types = types_of(out.results), active_types;
  const std::vector<bool> weak_results = body.weak_results, weak_args = weak_active(args, options.active);
  for (std::size_t i = 0; i < args.size(); ++i)
    if (options.active[i]) active_types.push_back(args[i].type());
  out.pull = [pullback, residuals, result_types, weak_args, options](const std::vector<Array>& cotangents) {
    check_like(cotangents, result_types, "cotangents", "result", options);
    std::vector<Array> params = residuals;
    for (int i : pullback->cotangents) params.push_back(cotangents[std::size_t(i)]);
    std::vector<Array> found = run_graph(pullback->backward, params, options.where);
    set_weak(found, weak_args);
    return found;
  };
  out.push = [pullback, residuals, result_types, weak_results, active_types, options](const std::vector<Array>& tangents) {
    check_like(tangents, active_types, "tangents", "argument", options);
    std::vector<Array> found = run_graph(pullback->linear, joined(tangents, residuals), options.where), results(result_types.size());
    for (std::size_t i = 0; i < found.size(); ++i) results[std::size_t(pullback->cotangents[i])] = found[i];
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!results[i].valid()) results[i] = zeros(result_types[i].shape, result_types[i].dtype);
    set_weak(results, weak_results);
    return results;
  };
  return out;
}

// ---- vmap

namespace {

// One axis for each of `count` values, non-negative, of values of these ranks (with the batch).
std::vector<int> axes_for(const std::vector<std::optional<int>>& given, const std::vector<int>& ranks, std::string_view which,
                          std::string_view what, const BatchOptions& options) {
  std::vector<std::optional<int>> axes = given;
  if (axes.empty()) axes.push_back(0);
  if (axes.size() == 1) axes.assign(ranks.size(), axes[0]);
  if (axes.size() != ranks.size())
    throw_user_error(
        "vmap {} must be an int, None, or a tuple of entries corresponding to the {} of the function, but got {} entries for {} {} of {} "
        "[{}]",
        which, what, axes.size(), ranks.size(), what, options.name, options.where.text());
  std::vector<int> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i]) {
      result.push_back(kNotBatched);
      continue;
    }
    int axis = *axes[i] < 0 ? *axes[i] + ranks[i] : *axes[i];
    if (axis < 0 || axis >= ranks[i])
      throw_user_error(
          "vmap was requested to map its {} {} of {} along axis {}, which implies that its rank should be at least {}, but is only {} "
          "[{}]",
          what, i, options.name, *axes[i], *axes[i] < 0 ? -*axes[i] : *axes[i] + 1, ranks[i], options.where.text());
    result.push_back(axis);
  }
  return result;
}

std::int64_t batch_size(const std::vector<Array>& args, const std::vector<int>& dims, const BatchOptions& options) {
  std::int64_t size = -1;
  bool agree = true;
  std::string sizes;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (dims[i] == kNotBatched) continue;
    std::int64_t here = args[i].shape()[std::size_t(dims[i])];
    agree &= size < 0 || size == here;
    size = here;
    sizes += fmt::format("{}argument {} of type {} has size {} along axis {}", sizes.empty() ? "" : "; ", i, args[i].type().text(), here,
                         dims[i]);
  }
  if (size < 0)
    throw_user_error("vmap must have at least one non-None value in in_axes: every argument of {} is the same for all elements [{}]",
                     options.name, options.where.text());
  if (!agree)
    throw_user_error("vmap got inconsistent sizes for array axes to be mapped: {}; of {} [{}]", sizes, options.name, options.where.text());
  return size;
}

}  // namespace

std::vector<Array> batched(const ArrayFunction& function, const std::vector<Array>& args, const BatchOptions& options) {
  check_args(args, options.name, options.where);
  std::vector<int> ranks;
  for (const Array& arg : args) ranks.push_back(arg.ndim());
  std::vector<int> in_dims = axes_for(options.in_axes, ranks, "in_axes", "arguments", options);
  std::int64_t size = batch_size(args, in_dims, options);
  std::vector<TensorType> types = types_of(args);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (in_dims[i] != kNotBatched) types[i].shape.erase(types[i].shape.begin() + in_dims[i]);
  Context& context = Context::current();
  TracedBody body = Tracer::trace_body(context, options.name, types, function, nullptr,
                                       mesh_of_arrays(context, args, options.name, options.where), weak_types(args));
  in_dims.resize(body.graph.params.size(), kNotBatched);
  ranks.clear();
  for (ValueId id : body.graph.results) ranks.push_back(body.graph.type(id).rank() + 1);
  std::vector<int> out_dims = axes_for(options.out_axes, ranks, "out_axes", "results", options);
  Graph graph = transform::batch(body.graph, in_dims, out_dims, size, options.where);
  std::vector<Array> results = run_graph(graph, joined(args, body.captured), options.where);
  set_weak(results, body.weak_results);
  return results;
}

}  // namespace shardlab
