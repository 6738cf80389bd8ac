#include "runtime/exec/control_flow.h"

#include <algorithm>
#include <map>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/captured.h"
#include "runtime/exec/context.h"
#include "runtime/exec/run_graph.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/varying_types.h"
#include "runtime/exec/weak_types.h"

namespace shardlab {
namespace {

// Traces the bodies of a loop, the one that makes the next carry last. Weak values that are carried give way to the dtype that it makes of
// them, as in JAX: they are converted, and the bodies traced anew.
std::vector<TracedBody> traced_with_carry(std::vector<Array>& init, Where where,
                                          const std::function<std::vector<TracedBody>(const std::vector<Array>& init)>& trace) {
  std::vector<TracedBody> bodies = trace(init);
  const TracedBody& body = bodies.back();
  bool is_changed = false;
  for (std::size_t i = 0; i < init.size() && i < body.graph.results.size(); ++i) {
    const DType given = init[i].dtype(), made = body.graph.type(body.graph.results[i]).dtype;
    if (!weak_type(init[i]) || given == made) continue;
    const DType dtype = promote({{given, true}, {made, body.weak_results[i]}}, Context::current().config().enable_x64).dtype;
    init[i] = apply("convert", {Operand(init[i], where)}, Attrs{{"dtype", dtype}}, where).at(0);
    is_changed = true;
  }
  return is_changed ? trace(init) : bodies;
}

}  // namespace

std::vector<Array> while_loop(const ArrayFunction& condition, const ArrayFunction& body, const std::vector<Array>& given, Where where) {
  Context& context = Context::current();
  std::vector<Array> init = given;
  std::vector<TracedBody> bodies = traced_with_carry(init, where, [&](const std::vector<Array>& carry) {
    std::vector<TracedBody> traced;
    for (auto [name, function] : {std::pair("cond_fun", &condition), std::pair("body_fun", &body)})
      traced.push_back(Tracer::trace_body(context, name, types_of(carry), *function, nullptr, mesh_of_arrays(context, carry, name, where),
                                          weak_types(carry), types_like(carry)));
    return traced;
  });
  check_carry_varies("while_loop body", bodies[1], init, init.size(), where);
  const std::vector<bool> weak = bodies[1].weak_results;
  std::vector<Array> captured = all_captured(bodies);
  Bodies graphs;
  for (TracedBody& each : bodies) graphs.push_back(with_captured(std::move(each), captured, true));
  std::vector<Array> results = apply("while_loop", operands_of(joined(captured, init), where),
                                     Attrs{{"bodies", graphs}, {"num_consts", std::int64_t(captured.size())}}, where);
  set_weak(results, weak);
  return results;
}

std::vector<Array> scan(const ArrayFunction& body, const std::vector<Array>& given, const std::vector<Array>& xs, ScanOptions options,
                        Where where) {
  std::vector<TensorType> slices;
  const bool is_told = options.length >= 0;
  for (const Array& each : xs) {
    TensorType type = each.type();
    if (type.shape.empty()) throw_user_error("scan got value with no leading axis to scan over: {} [{}]", type.text(), where.text());
    if (options.length < 0) options.length = type.shape[0];
    if (type.shape[0] != options.length && !is_told)
      throw_user_error("scan got values with different leading axis sizes: {}, {}. [{}]", options.length, type.shape[0], where.text());
    if (type.shape[0] != options.length)
      throw_user_error("scan got `length` argument of {} which disagrees with leading axis sizes [{}]. [{}]", options.length, type.shape[0],
                       where.text());
    type.shape.erase(type.shape.begin());
    slices.push_back(std::move(type));
  }
  if (options.length < 0) throw_user_error("scan got no values to scan over and `length` not provided. [{}]", where.text());
  std::vector<Array> init = given;
  std::vector<TracedBody> bodies = traced_with_carry(init, where, [&](const std::vector<Array>& carry) {
    std::vector<TensorType> params = types_of(carry);
    params.insert(params.end(), slices.begin(), slices.end());
    const std::vector<Array> all = joined(carry, xs);
    Context& context = Context::current();
    std::vector<TracedBody> one;
    TypesInTrace types = types_like(all);
    types.param = [of = types.param, carried = carry.size()](std::size_t i, const Mesh& mesh) {
      TracedType type = of(i, mesh);
      if (i >= carried && !type.spec.empty()) type.spec.erase(type.spec.begin());
      return type;
    };
    one.push_back(Tracer::trace_body(context, "body", params, body, nullptr, mesh_of_arrays(context, all, "scan", where), weak_types(all),
                                     std::move(types)));
    return one;
  });
  check_carry_varies("scan body", bodies[0], joined(init, xs), init.size(), where);
  TracedBody traced = std::move(bodies[0]);
  const std::vector<bool> weak = traced.weak_results;
  std::vector<Array> captured = traced.captured;
  GraphRef graph = with_captured(std::move(traced), captured, true);
  Attrs attrs{{"bodies", Bodies{graph}},
              {"length", options.length},
              {"num_carry", std::int64_t(init.size())},
              {"num_consts", std::int64_t(captured.size())},
              {"reverse", options.reverse}};
  std::vector<Array> results = apply("scan", operands_of(joined(joined(captured, init), xs), where), attrs, where);
  set_weak(results, weak);
  return results;
}

std::vector<Array> fori_loop(std::int64_t lower, std::int64_t upper, const ArrayFunction& body, const std::vector<Array>& init,
                             Where where) {
  Array index =
      apply("full", {Operand(Scalar{lower}, where)}, Attrs{{"shape", std::vector<std::int64_t>{}}, {"dtype", DType::kInt32}}, where).at(0);
  set_weak(index, true);  // a number, in the loop too
  auto step = [&](const std::vector<Array>& carry) {
    std::vector<Array> next = body(carry);
    next.insert(next.begin(), apply("add", {Operand(carry.at(0), where), Operand(Scalar{std::int64_t(1)}, where)}, {}, where).at(0));
    return next;
  };
  std::vector<Array> results =
      scan(step, joined({index}, init), {}, ScanOptions{.length = std::max<std::int64_t>(upper - lower, 0)}, where);
  results.erase(results.begin());
  return results;
}

std::vector<Array> switch_branches(const Operand& index, const std::vector<ArrayFunction>& branches, const std::vector<Array>& operands,
                                   Where where) {
  if (branches.empty()) throw_user_error("Empty branch sequence: switch at {} has no branches", where.text());
  Context& context = Context::current();
  std::vector<TracedBody> bodies;
  for (std::size_t i = 0; i < branches.size(); ++i)
    bodies.push_back(Tracer::trace_body(context, fmt::format("branch{}", i), types_of(operands), branches[i], nullptr,
                                        mesh_of_arrays(context, operands, "switch", where), weak_types(operands), types_like(operands)));
  check_branches_vary(bodies, operands, where);
  std::vector<bool> weak = bodies[0].weak_results;  // what is weak in all branches
  for (const TracedBody& each : bodies)
    for (std::size_t i = 0; i < weak.size() && i < each.weak_results.size(); ++i) weak[i] = weak[i] && each.weak_results[i];
  std::vector<Array> captured = all_captured(bodies);
  Bodies graphs;
  for (TracedBody& each : bodies) graphs.push_back(with_captured(std::move(each), captured, false));
  Array which = apply("convert", {index}, Attrs{{"dtype", DType::kInt32}}, where).at(0);
  if (which.ndim() != 0)
    throw_user_error("Pred must be a scalar, got {} of shape {} [{}]", which.type().text(), text_of(which.shape()), where.text());
  std::vector<Array> results =
      apply("cond", operands_of(joined({which}, joined(operands, captured)), where), Attrs{{"bodies", graphs}}, where);
  set_weak(results, weak);
  return results;
}

std::pair<Array, Array> detail::loop_bounds(const Operand& lower, const Operand& upper) {
  auto as_array = [](const Operand& x) {
    if (x.is_array()) return x.array();
    Array number = apply("full", {x}, Attrs{{"shape", std::vector<std::int64_t>{}}}, x.where()).at(0);
    set_weak(number, true);
    return number;
  };
  std::array<Array, 2> bounds{as_array(lower), as_array(upper)};
  DType dtype = bounds[0].dtype();
  if (dtype != bounds[1].dtype())
    dtype =
        promote({{dtype, weak_type(bounds[0])}, {bounds[1].dtype(), weak_type(bounds[1])}}, Context::current().config().enable_x64).dtype;
  for (Array& each : bounds) {
    if (each.ndim() != 0 || !is_integer(each.dtype()))
      throw_user_error("lower and upper arguments to fori_loop must be integer scalars, got {} [{}]", each.type().text(),
                       lower.where().text());
    each = each.astype(dtype);
  }
  return {bounds[0], bounds[1]};
}

Array detail::is_below(const Array& index, const Array& end) { return apply("less", {Operand(index), Operand(end)}, {}, {}).at(0); }
Array detail::next_index(const Array& index) { return apply("add", {Operand(index), Operand(1)}, {}, {}).at(0); }

void detail::check_carry(std::string_view loop, const std::string& given, const std::string& returned, Where where) {
  if (given == returned) return;
  throw_user_error(
      "{0} function carry input and carry output must have the same pytree structure, but they differ: it takes {1} and returns {2} (* is "
      "an array). Numbers in a carry are part of its structure; make those that change arrays. Revise the function so that the carry "
      "output has the same pytree structure as the carry input [{3}]",
      loop, given, returned, where.text());
}

void detail::check_branches(const std::string& first, std::size_t index, const std::string& other, Where where) {
  if (first == other) return;
  throw_user_error(
      "cond branches must have the same output pytree structure: branch 0 returns {}, branch {} returns {} (* is an array) [{}]", first,
      index, other, where.text());
}

}  // namespace shardlab
