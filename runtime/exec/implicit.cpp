#include "runtime/exec/implicit.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/captured.h"
#include "runtime/exec/context.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/run_graph.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/transformed.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/registry.h"
#include "runtime/transform/grad.h"

namespace shardlab {
namespace {

// A function of such arguments, which returns as many of the same types.
TracedBody traced_like(std::string_view api, std::string_view name, const ArrayFunction& function, const std::vector<Array>& args,
                       Where where) {
  Context& context = Context::current();
  TracedBody body =
      Tracer::trace_body(context, std::string(name), types_of(args), function, nullptr,
                         mesh_of_arrays(context, args, std::string(name), where), std::vector<bool>(args.size(), false), types_like(args));
  auto texts = [](const std::vector<TensorType>& types) {
    std::vector<std::string> all;
    for (const TensorType& type : types) all.push_back(type.text());
    return fmt::format("({})", fmt::join(all, ", "));
  };
  const std::vector<TensorType> made = body.graph.types(body.graph.results);
  if (made != types_of(args))
    throw_user_error("{}() output must have the same structure and types as what {} is given: got {} and {} [{}]", name, api, texts(made),
                     texts(types_of(args)), where.text());
  return body;
}

// Of a linear graph of constants and then vectors, the transpose, which takes the same constants.
Graph transposed(const Graph& linear, std::size_t consts) {
  std::vector<bool> active(linear.params.size(), true);
  std::fill(active.begin(), active.begin() + std::ptrdiff_t(consts), false);
  const Graph both = transform::vjp(linear, active);
  GraphBuilder b(linear.name + "_transposed", Context::current().config());
  std::vector<ValueId> args;
  for (std::size_t i = 0; i < consts; ++i) args.push_back(b.param(linear.type(linear.params[i])));
  const std::vector<ValueId> system = args;
  for (std::size_t i = consts; i < linear.params.size(); ++i) args.push_back(ops::filled(b, linear.type(linear.params[i]), 0.0));
  for (ValueId id : linear.results) args.push_back(b.param(linear.type(id)));
  std::vector<ValueId> results = transform::emit_graph(b, both, args);
  results.erase(results.begin(), results.begin() + std::ptrdiff_t(linear.results.size()));
  b.set_results(std::move(results));
  return without_dead_nodes(b.finish());
}

// A graph of constants and then others, on these constants.
ArrayFunction on_consts(GraphRef graph, std::vector<Array> consts, Where where) {
  return [graph = std::move(graph), consts = std::move(consts), where](const std::vector<Array>& args) {
    return run_graph(*graph, joined(consts, args), where);
  };
}

}  // namespace

std::vector<Array> custom_linear_solve(const LinearSystem& system, const std::vector<Array>& b, Where where) {
  check_args(b, "custom_linear_solve", where);
  if (!Context::current().tracer()) return system.solve(system.matvec, b);
  auto traced = [&](std::string_view name, const ArrayFunction& function) {
    return traced_like("custom_linear_solve", name, function, b, where);
  };
  auto solved = [](const SolveFunction& solve, const ArrayFunction& of) {
    return [&solve, of](const std::vector<Array>& right) { return solve(of, right); };
  };
  std::vector<TracedBody> bodies{traced("solve", solved(system.solve, system.matvec)), traced("matvec", system.matvec)};
  if (system.symmetric) {
    bodies.insert(bodies.end(), {bodies[0], bodies[1]});
  } else if (system.transpose_solve) {
    const std::vector<Array> captured = bodies[1].captured;
    auto graph = std::make_shared<const Graph>(transposed(*with_captured(bodies[1], captured, true), captured.size()));
    const ArrayFunction vecmat = on_consts(graph, captured, where);
    bodies.push_back(traced("transpose_solve", solved(system.transpose_solve, vecmat)));
    bodies.push_back(traced("vecmat", vecmat));
  }
  const std::vector<Array> captured = all_captured(bodies);
  Bodies graphs;
  for (TracedBody& each : bodies) graphs.push_back(with_captured(std::move(each), captured, true));
  return apply("custom_linear_solve", operands_of(joined(captured, b), where),
               Attrs{{"bodies", graphs}, {"num_consts", std::int64_t(captured.size())}}, where);
}

namespace {

// What a root is computed from, once its functions are graphs of the arrays that they captured and then the guess.
struct TracedRoot {
  GraphRef function, solve;
  std::size_t consts = 0;
  SolveFunction tangent_solve;
  Where where;
};

std::vector<Array> root_of(const std::shared_ptr<const TracedRoot>& root, const std::vector<Array>& args);

// u of F(m, u) = 0 changes by -(dF/du)^-1 (dF/dm) m'. Results, then their tangents.
std::vector<Array> root_and_tangents(const std::shared_ptr<const TracedRoot>& root, const std::vector<Array>& values) {
  const std::size_t count = values.size() / 2;
  const std::vector<Array> args(values.begin(), values.begin() + std::ptrdiff_t(count));
  const std::vector<Array> consts(args.begin(), args.begin() + std::ptrdiff_t(root->consts));
  const std::vector<Array> solution = root_of(root, args);
  TransformOptions options{"custom_root", {}, root->where};
  std::vector<Array> changes;
  for (std::size_t i = 0; i < root->consts; ++i) {
    options.active.push_back(ops::has_tangent(consts[i].dtype()));
    if (options.active.back()) changes.push_back(values[count + i]);
  }
  std::vector<Array> tangents;
  if (changes.empty()) {
    for (const Array& each : solution) tangents.push_back(zeros_like(Operand(each, root->where)));
  } else {
    auto by_consts = [&](const std::vector<Array>& varied) { return run_graph(*root->function, joined(varied, solution), root->where); };
    const std::vector<Array> right = jvp_of(by_consts, consts, changes, options).tangents;
    options.active.assign(solution.size(), true);
    auto by_solution = [&](const std::vector<Array>& varied) { return run_graph(*root->function, joined(consts, varied), root->where); };
    const Differential at_root = differential_of(by_solution, solution, options);
    for (const Array& each : root->tangent_solve(at_root.push, right)) tangents.push_back(negative(Operand(each, root->where)));
  }
  return joined(solution, tangents);
}

std::vector<Array> root_of(const std::shared_ptr<const TracedRoot>& root, const std::vector<Array>& args) {
  DerivativeRules rules{"custom_root"};
  rules.jvp = [root](const std::vector<Array>& values) { return root_and_tangents(root, values); };
  return with_derivative([root](const std::vector<Array>& given) { return run_graph(*root->solve, given, root->where); }, rules, args,
                         root->where);
}

}  // namespace

std::vector<Array> custom_root(const RootProblem& problem, const std::vector<Array>& guess, Where where) {
  check_args(guess, "custom_root", where);
  if (!Context::current().tracer()) return problem.solve(problem.function, guess);
  std::vector<TracedBody> bodies{
      traced_like("custom_root", "f", problem.function, guess, where),
      traced_like(
          "custom_root", "solve", [&](const std::vector<Array>& from) { return problem.solve(problem.function, from); }, guess, where)};
  const std::vector<Array> captured = all_captured(bodies);
  auto root = std::make_shared<TracedRoot>();
  root->function = with_captured(std::move(bodies[0]), captured, true);
  root->solve = with_captured(std::move(bodies[1]), captured, true);
  root->consts = captured.size();
  root->tangent_solve = problem.tangent_solve;
  root->where = where;
  return root_of(root, joined(captured, guess));
}

}  // namespace shardlab
