// Ops outside and inside jit: an eager op is a cached program of one call.
#include <fmt/format.h>

#include "runtime/base/text.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_calls.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/operand.h"
#include "runtime/exec/out_sharding.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/signature.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/graph/unjitted.h"
#include "runtime/ops/creation.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/shapes.h"

namespace shardlab {
namespace {

std::string scalar_text(const Scalar& scalar) {
  return std::visit(
      [](auto value) -> std::string {
        if constexpr (std::is_same_v<decltype(value), std::complex<double>>)
          return fmt::format("c{:a},{:a}", value.real(), value.imag());
        else if constexpr (std::is_same_v<decltype(value), double>)
          return fmt::format("f{:a}", value);
        else if constexpr (std::is_same_v<decltype(value), bool>)
          return value ? "b1" : "b0";
        else
          return fmt::format("i{}", value);
      },
      scalar.value);
}

std::string key_of(const OpDef& op, const std::vector<Operand>& operands, const std::vector<Array>& arrays, const Attrs& attrs,
                   const std::optional<Sharding>& out) {
  std::string key(op.name);
  key += '{';
  for (const auto& [name, value] : attrs.entries()) key += fmt::format("{}={};", name, text_of(value));
  key += '}';
  for (const Operand& operand : operands) key += operand.is_array() ? "@" : scalar_text(operand.scalar());
  key += signature_of(arrays);
  if (out) key += signature_of({out});
  return key;
}

// Whether one number fills what has the operand's shape.
bool fills_all_like(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs) {
  if (!ops::fills_like_operand(op) || !operands[0].is_array()) return false;
  const bool fills_by_parts = operands.size() > 1 && operands[1].is_array() && operands[1].array().ndim() > 0;
  const AttrValue* value = attrs.find("fill_value");
  const bool is_list = value != nullptr && std::holds_alternative<std::shared_ptr<const Literal>>(*value);
  return !fills_by_parts && !is_list;
}

// Outside jit, what is filled with one number like a committed array lies as it does. Source: jax.lax.full_like.
std::optional<Sharding> filled_like(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs) {
  if (!fills_all_like(op, operands, attrs)) return std::nullopt;
  const Array& like = operands[0].array();
  if (!like.committed() || (like.impl()->weak && !attrs.has("dtype"))) return std::nullopt;
  if (attrs.has("shape") && ops::integer_list_of(attrs, "shape") != like.shape()) return std::nullopt;
  return like.sharding();
}

// And inside, as its type says.
std::optional<Sharding> typed_like(const Tracer& tracer, const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs) {
  if (!fills_all_like(op, operands, attrs) || attrs.has("shape") || tracer.typed_axes() == 0) return std::nullopt;
  const Mesh mesh = *tracer.mesh_of_types();
  const Spec spec = within(traced_type(operands[0].array(), mesh).spec, tracer.typed_axes());
  if (axes_in(spec) == 0) return std::nullopt;
  return Sharding(mesh, spec);
}

}  // namespace

std::vector<Array> apply_to(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where,
                            const std::optional<Sharding>& out_sharding) {
  Context& context = Context::current();
  if (!out_sharding) check_typed_call(op, operands, attrs, where);
  if (context.tracer()) {
    const auto wanted = out_sharding ? out_sharding : typed_like(*context.tracer(), op, operands, attrs);
    auto results = context.tracer()->call(op, operands, attrs, where);
    if (!wanted) return results;
    for (Array& result : results) result = resharded(Operand(result, where), *wanted, op.name);
    return results;
  }
  ProgramRequest request;
  request.name = op.name;
  request.where = where;
  request.lies_by_ops = is_unjitted(op.name);
  for (const Operand& operand : operands)
    if (operand.is_array()) {
      if (!operand.array().valid()) throw_user_error("{} at {}: an empty Array is used; give it a value first", op.name, where.text());
      if (operand.array().impl()->is_tracer())
        throw_user_error(
            "{} at {}: Encountered an unexpected tracer. A function had a side effect, allowing for a reference to an intermediate value "
            "with type {} to escape: a value traced by jit is used after its function has returned; return it from the function",
            op.name, where.text(), operand.array().type().text());
      request.args.push_back(operand.array());
    }
  // Beside Explicit axes Auto ones are left to propagation, as inside jit.
  const bool is_reshard = out_sharding && is_partly_explicit(out_sharding->mesh());
  const auto wanted = out_sharding ? out_sharding : filled_like(op, operands, attrs);
  if (wanted && !is_reshard) request.out_shardings = {wanted};
  request.trace = [&](const std::vector<Array>&, const std::optional<Mesh>&) {
    GraphBuilder builder{std::string(op.name), context.config()};
    const WeakCall weak = weak_call(op, operands, attrs, context.config().enable_x64);
    std::vector<Arg> args;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].is_array())
        args.emplace_back(as_promoted(builder, builder.param(operands[i].array().type()), weak.operands[i]));
      else
        args.emplace_back(operands[i].scalar());
    }
    std::vector<ValueId> results = builder.call(op, args, attrs, where);
    if (is_reshard)
      for (ValueId& id : results)
        id = builder
                 .call(ops::kShardingConstraint, std::vector<Arg>{id},
                       Attrs{{"sharding", *out_sharding}, {"reshards", std::string(op.name)}}, where)
                 .at(0);
    builder.set_results(std::move(results));
    *request.weak_results = std::vector<bool>(builder.graph().results.size(), weak.results);
    for (const std::string& warning : builder.warnings()) context.warn(warning);
    return without_dead_nodes(builder.finish());
  };
  return run_program(context, key_of(op, operands, request.args, attrs, out_sharding), request);
}

std::vector<Array> apply(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where) {
  return apply_to(op, operands, attrs, where, std::nullopt);
}

std::vector<Array> apply(std::string_view name, const std::vector<Operand>& operands, const Attrs& attrs, Where where) {
  const OpDef* op = find_op(name);
  if (op == nullptr) {
    std::vector<std::string_view> names;
    for (const OpDef* each : all_ops()) names.push_back(each->name);
    throw_user_error("there is no op '{}'{} [{}]", name, did_you_mean(name, names), where.text());
  }
  return apply(*op, operands, attrs, where);
}

}  // namespace shardlab
