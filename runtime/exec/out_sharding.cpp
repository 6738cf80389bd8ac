#include "runtime/exec/out_sharding.h"

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/spec_mesh.h"
#include "runtime/exec/tracing.h"
#include "runtime/ops/registry.h"

namespace shardlab {

std::optional<Mesh> mesh_for_specs(const std::vector<Operand>& operands) {
  const Context& context = Context::current();
  if (context.tracer()) return context.tracer()->mesh() ? context.tracer()->mesh() : context.mesh();
  for (const Operand& each : operands)
    if (each.is_array() && each.array().valid() && !each.array().sharding().is_single_device()) return each.array().sharding().mesh();
  return context.mesh();
}

Sharding OutSharding::on_mesh_of(const std::vector<Operand>& operands, Where where) const {
  if (const auto* sharding = std::get_if<Sharding>(&value_)) return *sharding;
  const auto& spec = std::get<PartitionSpec>(value_);
  if (auto mesh = mesh_for_specs(operands)) return NamedSharding(*mesh, spec, where);
  if (Context::current().tracer())
    throw_user_error("{} at {}: no argument of the function lies on a mesh; give a NamedSharding", spec.text(), where.text());
  throw_user_error(
      "{} at {}: the array is on a single device, so there is no mesh for the spec. Please set a mesh via `jax.set_mesh` (here `set_mesh`) "
      "if a PartitionSpec is passed, or give a NamedSharding",
      spec.text(), where.text());
}

Array resharded(const Operand& x, const Sharding& sharding, std::string_view api) {
  return apply("with_sharding_constraint", {x}, Attrs{{"sharding", sharding}, {"reshards", std::string(api)}}, x.where()).at(0);
}

std::vector<Array> apply_to(std::string_view name, const std::vector<Operand>& operands, const Attrs& attrs, Where where,
                            const std::optional<OutSharding>& out_sharding) {
  if (!out_sharding) return apply(name, operands, attrs, where);
  const OpDef* op = find_op(name);
  SL_CHECK(op != nullptr, "no op '{}'", name);
  return apply_to(*op, operands, attrs, where, out_sharding->on_mesh_of(operands, where));
}

}  // namespace shardlab
