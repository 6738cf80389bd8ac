#include "runtime/exec/auto_axes.h"

#include "runtime/exec/context.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/out_sharding.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"

namespace shardlab {
namespace {

// The mesh that specs are on, with the named axes checked.
Mesh mesh_for(std::string_view name, const std::vector<std::string>& axes, Where where) {
  Context& context = Context::current();
  std::optional<Mesh> mesh = context.tracer() ? context.tracer()->mesh() : std::nullopt;
  if (!mesh) mesh = context.mesh();
  if (!mesh)
    throw_user_error(
        "Context mesh cannot be empty. Please use `jax.set_mesh` (here `set_mesh`) API to enter into a mesh context when using `{}` API, "
        "or pass an argument that lies on a mesh [{}]",
        name, where.text());
  for (const std::string& axis : axes)
    if (!mesh->axis_index(axis)) throw_user_error("{}: axis '{}' is not in {} [{}]", name, axis, mesh->text(), where.text());
  return *mesh;
}

// Values in the types that specs say.
std::vector<Array> placed(std::string_view name, std::string_view which, std::vector<Array> values, const std::vector<PartitionSpec>& specs,
                          const Mesh& mesh, Where where) {
  if (specs.size() != 1 && specs.size() != values.size())
    throw_user_error("{}: got {} specs in {} for {} values; give one, or one for each [{}]", name, specs.size(), which, values.size(),
                     where.text());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = resharded(Operand(values[i], where), NamedSharding(mesh, specs[specs.size() == 1 ? 0 : i], where), "reshard");
  return values;
}

// The function's nodes, marked, in the function being traced.
struct Marking {
  std::string_view name;
  AxisType type;
  const std::vector<std::string>& axes;
};
std::vector<Array> emit_marked(const ArrayFunction& function, const Marking& marking, const std::vector<Array>& args, Where where) {
  Context& context = Context::current();
  std::vector<TensorType> types;
  for (const Array& arg : args) types.push_back(arg.type());
  TypesInTrace in_trace = types_like(args);
  if (const auto mesh = context.tracer()->mesh_of_types()) {
    const AxisSet around = context.tracer()->typed_axes(), axes = axes_named(marking.axes, *mesh);
    in_trace.typed = marking.type == AxisType::kExplicit ? around | axes : around & ~axes;
  }
  TracedBody body =
      Tracer::trace_body(context, std::string(marking.name), types, function, nullptr, std::nullopt, weak_types(args), std::move(in_trace));
  for (Node& node : body.graph.nodes) node.user_op = marked(node.user_op, marking.type, marking.axes);
  std::vector<Array> all = args;
  all.insert(all.end(), body.captured.begin(), body.captured.end());
  std::vector<Array> results = context.tracer()->emit(body.graph, all, where);
  set_weak(results, body.weak_results);
  return results;
}

// Outside a function being traced the whole is one program.
template <typename Run>
std::vector<Array> jitted(const std::string& name, const std::vector<Array>& args, Where where, Run&& run) {
  return JitFunction([run](const std::vector<Array>& params) { return run(params); }, {.name = name}).call(args, where);
}

}  // namespace

std::vector<Array> auto_axes(const ArrayFunction& function, const AutoAxesOptions& options, const std::vector<Array>& args, Where where) {
  if (options.out_sharding.empty()) throw_user_error("Missing required keyword argument: 'out_sharding' (auto_axes at {})", where.text());
  if (!Context::current().tracer())
    return jitted("auto_axes", args, where, [&](const std::vector<Array>& params) { return auto_axes(function, options, params, where); });
  Mesh mesh = mesh_for("auto_axes", options.axes, where);
  std::vector<Array> entered;
  for (const Array& arg : args) entered.push_back(apply("enter_auto_axes", {Operand(arg, where), Operand(arg, where)}, {}, where).at(0));
  std::vector<Array> results =
      emit_marked(function, {"auto_axes", AxisType::kAuto, options.axes}, mesh.has_explicit_axes() ? entered : args, where);
  return placed("auto_axes", "out_sharding", std::move(results), options.out_sharding, mesh, where);
}

std::vector<Array> explicit_axes(const ArrayFunction& function, const ExplicitAxesOptions& options, const std::vector<Array>& args,
                                 Where where) {
  if (options.in_sharding.empty()) throw_user_error("Missing required keyword argument: 'in_sharding' (explicit_axes at {})", where.text());
  if (!Context::current().tracer())
    return jitted("explicit_axes", args, where,
                  [&](const std::vector<Array>& params) { return explicit_axes(function, options, params, where); });
  Mesh mesh = mesh_for("explicit_axes", options.axes, where);
  auto typed = [&](const std::vector<Array>& params) {
    return function(placed("explicit_axes", "in_sharding", params, options.in_sharding, mesh, where));
  };
  return emit_marked(typed, {"explicit_axes", AxisType::kExplicit, options.axes}, args, where);
}

}  // namespace shardlab
