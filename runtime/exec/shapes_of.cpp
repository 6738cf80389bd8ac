#include "runtime/exec/shapes_of.h"

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/run_graph.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/derive.h"
#include "runtime/transform/grad.h"
#include "runtime/transform/used_params.h"

namespace shardlab {

Array ShapeDtypeStruct(const Shape& shape, DType dtype, std::source_location where) {
  for (std::int64_t size : shape)
    if (size < 0) throw_user_error("ShapeDtypeStruct at {}: the shape {} has a negative size", Where::from(where).text(), text_of(shape));
  Array made;
  Tracer::trace(Context::current(), "ShapeDtypeStruct", std::nullopt, {{dtype, shape}}, [&](const std::vector<Array>& params) {
    made = params[0];
    return params;
  });
  return made;
}

std::vector<Array> eval_shape_of(const ArrayFunction& function, const std::vector<Array>& args, Where where) {
  check_args(args, "eval_shape", where);
  std::vector<Array> results;
  Tracer::trace_body(
      Context::current(), "eval_shape", types_of(args),
      [&](const std::vector<Array>& params) {
        results = function(params);
        return results;
      },
      nullptr, std::nullopt, weak_types(args));
  return results;
}

ArrayFunction linear_transpose_of(const ArrayFunction& function, const std::vector<Array>& args, Where where) {
  check_args(args, "linear_transpose", where);
  TracedBody body =
      Tracer::trace_body(Context::current(), "linear_transpose", types_of(args), function, nullptr,
                         mesh_of_arrays(Context::current(), {}, "linear_transpose", where), weak_types(args), {}, TracedAs::kOpByOp);
  for (const Array& arg : args)
    if (!ops::has_tangent(arg.dtype()))
      throw_user_error("linear_transpose only supports [float or complex] inputs, but got {} [{}]", arg.type().text(), where.text());
  std::vector<bool> active(body.graph.params.size(), false);
  std::fill(active.begin(), active.begin() + std::ptrdiff_t(args.size()), true);
  auto pullback = std::make_shared<transform::Pullback>(transform::pullback(body.graph, active));
  Graph residuals = pullback->forward;  // of a linear function they do not depend on the arguments
  residuals.results.erase(residuals.results.begin(), residuals.results.begin() + std::ptrdiff_t(body.graph.results.size()));
  residuals = without_dead_nodes(residuals);
  const std::vector<bool> used = transform::used_params(residuals);
  for (std::size_t i = 0; i < args.size(); ++i)
    if (used[i])
      throw_user_error("linear_transpose: the function is not linear in its argument {}: its derivative depends on it [{}]", i,
                       where.text());
  std::vector<Array> given;
  for (const Array& arg : args) given.push_back(zeros(arg.shape(), arg.dtype()));
  const std::vector<Array> held = run_graph_by_ops(residuals, joined(given, body.captured), where);
  return [pullback, held, where](const std::vector<Array>& cotangents) {
    std::vector<Array> params = held;
    for (int i : pullback->cotangents) params.push_back(cotangents.at(std::size_t(i)));
    return run_graph_by_ops(pullback->backward, params, where);
  };
}

}  // namespace shardlab
