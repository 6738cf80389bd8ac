#include "runtime/exec/custom_derivatives.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/run_graph.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/graph/custom_derivative.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab {

CheckpointPolicy checkpoint_policies::save_from_both_policies(const CheckpointPolicy& first, const CheckpointPolicy& second,
                                                              std::source_location where) {
  if (!first.names.empty() && !second.names.empty())
    throw_user_error("save_from_both_policies: both policies speak of names, {} and {}; name all of them in one [{}]", first.name,
                     second.name, Where::from(where).text());
  return {first.name + "|" + second.name, first.names.empty() ? second.names : first.names};
}
namespace {

using Types = std::vector<TensorType>;

std::string text_of_types(const Types& types) {
  std::vector<std::string> texts;
  for (const TensorType& each : types) texts.push_back(each.text());
  return fmt::format("({})", fmt::join(texts, ", "));
}

std::vector<Operand> operands_of(const std::vector<Array>& args, const std::vector<Array>& captured, Where where) {
  std::vector<Operand> operands;
  for (const auto* list : {&args, &captured})
    for (const Array& each : *list) operands.emplace_back(each, where);
  return operands;
}

std::vector<Array> weakened(std::vector<Array> results, const std::vector<bool>& weak) {
  set_weak(results, weak);
  return results;
}

// The function being called, as its rules see it later, when they are traced.
struct DerivedCall {
  std::string name;
  Types args, results;
  std::vector<bool> weak_args;
  std::vector<std::weak_ptr<ArrayImpl>> captured;
  Types captured_types;
  std::shared_ptr<const BoundAxes> bound;
  std::optional<Mesh> mesh;
};

// Traces a rule. What it takes from around it is what the function took, whose values `captured` are, or constants.
class RuleTrace {
 public:
  RuleTrace(const DerivedCall& call, const ArrayFunction& rule, const Types& params, const std::vector<bool>& weak)
      : call_(call), body_(Tracer::trace_body(Context::current(), call.name, params, rule, call.bound, call.mesh, weak)) {}

  const std::vector<bool>& weak_results() const { return body_.weak_results; }
  Types result_types() const { return body_.graph.types(body_.graph.results); }

  // Emits it on these arguments and the function's captured values.
  std::vector<ValueId> emit(GraphBuilder& b, std::vector<ValueId> args, const std::vector<ValueId>& captured) const {
    for (const Array& each : body_.captured) args.push_back(value_of(b, each, captured));
    return transform::emit_graph(b, body_.graph, args);
  }

 private:
  ValueId value_of(GraphBuilder& b, const Array& array, const std::vector<ValueId>& captured) const {
    for (std::size_t i = 0; i < call_.captured.size(); ++i)
      if (call_.captured[i].lock() == array.impl() && !captured.empty()) return captured[i];
    if (array.impl()->is_tracer())
      throw_user_error(
          "a derivative rule of '{}' uses a value of type {} from around it, which the function itself does not use, or which its backward "
          "pass has no more: pass it as an argument, or through the residuals",
          call_.name, array.type().text());
    auto data = std::make_shared<Buffer>(array.fetch_at({}, "captured by a derivative rule"));
    return b.emit1(ops::kConstant, {}, Attrs{{"value", std::make_shared<const Literal>(Literal{array.type(), data})}});
  }

  const DerivedCall& call_;
  TracedBody body_;
};

std::vector<ValueId> params_of(GraphBuilder& b, const Types& types) {
  std::vector<ValueId> params;
  for (const TensorType& type : types) params.push_back(b.param(type));
  return params;
}

template <typename T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Types part(const Types& types, std::size_t first, std::size_t end) {
  return {types.begin() + std::ptrdiff_t(first), types.begin() + std::ptrdiff_t(end)};
}

bool has_tangent(const TensorType& type) { return ops::has_tangent(type.dtype); }

// Source of the texts: JAX's _flatten_jvp.
void check_jvp(const DerivedCall& call, const Types& got) {
  const std::size_t count = got.size() / 2;
  Types results = part(got, 0, count);
  if (results != call.results)
    throw_user_error(
        "Custom JVP rule for function {0} must produce a pair (list or tuple of length two) where the first element represents the primal "
        "output (equal in value to the output of the custom_jvp-decorated function {0}, and in particular with leaves of the same "
        "shape/dtype), but instead the JVP rule output's first element had shapes/dtypes of:\n    {1}\nwhile the custom_jvp-decorated "
        "function {0} had output shapes/dtypes of:\n    {2}",
        call.name, text_of_types(results), text_of_types(call.results));
  for (std::size_t i = 0; i < count; ++i)
    if (has_tangent(results[i]) && got[count + i] != results[i])
      throw_user_error(
          "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected {} (tangent type of {}) "
          "but got {}. (result {} of {})",
          results[i].text(), results[i].text(), got[count + i].text(), i, call.name);
}

Graph jvp_graph(const DerivedCall& call, const ArrayFunction& rule) {
  RuleTrace trace(call, rule, joined(call.args, call.args), joined(call.weak_args, call.weak_args));
  check_jvp(call, trace.result_types());
  GraphBuilder b(call.name + "_jvp");
  std::vector<ValueId> args = params_of(b, call.args), captured = params_of(b, call.captured_types), tangents = params_of(b, call.args);
  b.set_results(trace.emit(b, joined(args, tangents), captured));
  return b.finish();
}

// `weak`: of its results and residuals.
Graph forward_graph(const DerivedCall& call, const ArrayFunction& rule, std::vector<bool>& weak) {
  RuleTrace trace(call, rule, call.args, call.weak_args);
  weak = trace.weak_results();
  Types got = trace.result_types(), results = part(got, 0, std::min(got.size(), call.results.size()));
  if (results != call.results)
    throw_user_error(
        "Custom VJP fwd rule for function {0} must produce a pair (list or tuple of length two) where the first element represents the "
        "primal output (equal to the output of the custom_vjp-decorated function {0}) and the second element represents residuals (i.e. "
        "values stored from the forward pass for use on the backward pass), but instead the fwd rule output's first element had "
        "shapes/dtypes of:\n    {1}\nwhile the custom_vjp-decorated function {0} had output shapes/dtypes of:\n    {2}",
        call.name, text_of_types(results), text_of_types(call.results));
  GraphBuilder b(call.name + "_fwd");
  std::vector<ValueId> args = params_of(b, call.args), captured = params_of(b, call.captured_types);
  b.set_results(trace.emit(b, args, captured));
  return b.finish();
}

// `weak`: of the residuals, and the cotangents as the results are.
Graph backward_graph(const DerivedCall& call, const ArrayFunction& rule, const Types& residuals, const std::vector<bool>& weak) {
  std::vector<bool> is_zero(call.args.size(), false);
  ArrayFunction checked = [&](const std::vector<Array>& leaves) {
    std::vector<Array> found = rule(leaves), kept;
    if (found.size() != call.args.size()) throw_bwd_structure(call.name, fmt::format("{} leaves", found.size()), text_of_types(call.args));
    for (std::size_t i = 0; i < found.size(); ++i) {
      is_zero[i] = !found[i].valid();
      if (!has_tangent(call.args[i])) continue;
      if (!is_zero[i] && found[i].type() != call.args[i])
        throw_user_error(
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal function, but at output[{}] the "
            "bwd rule produced an output of type {} corresponding to an input of type {}. (function {})",
            i, found[i].type().text(), call.args[i].text(), call.name);
      kept.push_back(is_zero[i] ? zeros(call.args[i].shape, call.args[i].dtype) : found[i]);
    }
    return kept;
  };
  RuleTrace trace(call, checked, joined(residuals, call.results), weak);
  GraphBuilder b(call.name + "_bwd");
  std::vector<ValueId> args = params_of(b, residuals);
  for (const TensorType& type : call.results) args.push_back(has_tangent(type) ? b.param(type) : ops::filled(b, type, 0.0));
  b.set_results(trace.emit(b, args, {}));
  return b.finish();
}

CustomDerivative derivative(std::shared_ptr<const DerivedCall> call, const DerivativeRules& rules) {
  CustomDerivative out{call->name, call->captured.size()};
  if (rules.jvp) {
    out.jvp = [call, rule = rules.jvp] { return jvp_graph(*call, rule); };
  } else {
    out.vjp = [call, forward = rules.forward, backward = rules.backward] {
      CustomDerivative::Passes passes;
      std::vector<bool> weak;
      passes.forward = forward_graph(*call, forward, weak);
      std::rotate(weak.begin(), weak.begin() + std::ptrdiff_t(call->results.size()), weak.end());
      Types all = passes.forward.types(passes.forward.results);
      passes.backward = backward_graph(*call, backward, part(all, call->results.size(), all.size()), weak);
      return passes;
    };
  }
  return out;
}

}  // namespace

namespace {
void check_policy(const CheckpointPolicy& policy, Where where) {
  static constexpr std::string_view kKnown[] = {"nothing_saveable",        "everything_saveable",
                                                "dots_saveable",           "dots_with_no_batch_dims_saveable",
                                                "save_only_these_names",   "save_anything_except_these_names",
                                                "save_any_names_but_these"};
  for (std::string_view rest = policy.name;;) {
    const std::size_t end = rest.find('|');
    const std::string_view name = rest.substr(0, end);
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      throw_user_error("checkpoint: there is no policy '{}'; {} are those of checkpoint_policies [{}]", name, fmt::join(kKnown, ", "),
                       where.text());
    if (end == rest.npos) return;
    rest.remove_prefix(end + 1);
  }
}
}  // namespace

std::vector<Array> checkpoint(const ArrayFunction& function, const CheckpointOptions& options, const std::vector<Array>& args,
                              Where where) {
  check_policy(options.policy, where);
  Context& context = Context::current();
  if (!context.tracer()) return function(args);
  TracedBody body =
      Tracer::trace_body(context, options.name, types_of(args), function, nullptr, std::nullopt, weak_types(args), types_like(args));
  Attrs attrs{{"bodies", Bodies{std::make_shared<const Graph>(std::move(body.graph))}}, {"policy", options.policy.name}};
  if (!options.policy.names.empty()) attrs.set("names", options.policy.names);
  return weakened(apply("checkpoint", operands_of(args, body.captured, where), attrs, where), body.weak_results);
}

std::vector<Array> with_derivative(const ArrayFunction& function, const DerivativeRules& rules, const std::vector<Array>& args,
                                   Where where) {
  Context& context = Context::current();
  if (!context.tracer()) return function(args);
  TracedBody body =
      Tracer::trace_body(context, rules.name, types_of(args), function, nullptr, std::nullopt, weak_types(args), types_like(args));
  auto call = std::make_shared<DerivedCall>();
  call->name = rules.name;
  call->args = types_of(args);
  call->weak_args = weak_types(args);
  call->results = body.graph.types(body.graph.results);
  for (const Array& each : body.captured) call->captured.push_back(each.impl());
  call->captured_types = types_of(body.captured);
  call->bound = context.tracer()->bound();
  call->mesh = context.tracer()->mesh();
  const std::vector<bool> weak = body.weak_results;
  GraphRef graph = with_derivative(std::move(body.graph), derivative(std::move(call), rules));
  const std::string_view op = rules.jvp ? "custom_jvp_call" : "custom_vjp_call";
  return weakened(apply(op, operands_of(args, body.captured, where), Attrs{{"bodies", Bodies{graph}}}, where), weak);
}

std::pair<ArrayFunction, std::vector<Array>> closure_converted(const ArrayFunction& function, const std::vector<Array>& like, Where where) {
  TracedBody body = Tracer::trace_body(Context::current(), "closure", types_of(like), function, nullptr, std::nullopt, weak_types(like));
  auto graph = std::make_shared<const Graph>(std::move(body.graph));
  return {[graph, where](const std::vector<Array>& args) { return run_graph(*graph, args, where); }, std::move(body.captured)};
}

void throw_jvp_structure(std::string_view name, std::size_t results, std::size_t tangents) {
  throw_user_error(
      "Custom JVP rule for function {} must produce primal and tangent outputs with equal container (pytree) structures, but got {} and {} "
      "leaves respectively.",
      name, results, tangents);
}

void throw_bwd_structure(std::string_view name, std::string_view got, std::string_view wanted) {
  throw_user_error(
      "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple of the primal function, and "
      "in particular must produce a tuple of length equal to the number of arguments to the primal function, but got bwd output structure "
      "{} for primal input structure {}. (function {})",
      got, wanted, name);
}

}  // namespace shardlab
