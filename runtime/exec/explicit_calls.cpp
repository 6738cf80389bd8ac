#include "runtime/exec/explicit_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_node.h"
#include "runtime/exec/explicit_types.h"
#include "runtime/exec/tracing.h"
#include "runtime/ops/shapes.h"

namespace shardlab {
namespace {

// The operand that an op looks at, with its type.
struct Call {
  const OpDef& op;
  const Attrs& attrs;
  const TensorType& type;
  const Spec& spec;
  const Mesh& mesh;
  Where where;

  bool is_cut(std::int64_t dim) const { return !spec[std::size_t(dim)].empty(); }
  std::string text() const { return typed_text(type, spec, mesh); }
  // The dimension that attribute "axis" names; nothing where it names none, or several.
  std::optional<std::int64_t> axis() const {
    if (!attrs.has("axis")) return std::nullopt;
    const std::vector<std::int64_t> axes = ops::integer_list_of(attrs, "axis");
    const std::int64_t axis = axes.size() != 1 ? -1 : axes[0] < 0 ? axes[0] + type.rank() : axes[0];
    if (axis < 0 || axis >= type.rank()) return std::nullopt;
    return axis;
  }
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_user_error("{} [{} at {}]", fmt::format(format, std::forward<Args>(args)...), op.name, where.text());
  }
};

void check_repeat(const Call& call) {
  if (!call.attrs.has("axis") || (call.axis() && call.is_cut(*call.axis())))
    call.fail("Please pass sharding to `jnp.repeat` via `out_sharding` parameter. Got input type={}", call.text());
}

void check_tile(const Call& call) {
  const std::vector<std::int64_t> reps = ops::integer_list_of(call.attrs, "reps");
  for (std::size_t d = 0; d < call.spec.size(); ++d) {
    const std::size_t from_end = call.spec.size() - d;
    if (from_end <= reps.size() && reps[reps.size() - from_end] != 1 && call.is_cut(std::int64_t(d)))
      call.fail("Operand cannot be sharded on dimension {} when the tiling is non-trivial. Got input type: {} with reps: {}", d,
                call.text(), text_of(reps));
  }
}

void check_cumulative(const Call& call) {
  if (!call.attrs.has("axis"))
    call.fail("The input should be fully replicated when axis is not specified to {}. Got input type={}", call.op.name, call.text());
}

void check_unstack(const Call& call) {
  const std::int64_t axis = call.attrs.has("axis") ? call.axis().value_or(0) : 0;
  if (call.is_cut(axis))
    call.fail("unstack operand cannot be sharded on the unstacking axis {}. Got operand type={}", axis,
              short_typed_text(call.type, call.spec, call.mesh));
}

// These pad modes look at the first and the last place along every dimension.
void check_pad(const Call& call) {
  if (!call.attrs.has("mode") || (call.attrs.string("mode") != "edge" && call.attrs.string("mode") != "linear_ramp")) return;
  for (std::size_t d = 0; d < call.spec.size(); ++d) {
    if (!call.is_cut(std::int64_t(d))) continue;
    Shape edge = call.type.shape;
    edge[d] = 1;
    call.fail("{}", indivisible_text("slicing", d, call.type, call.spec, edge, call.mesh));
  }
}

// Of stacked matrices JAX repeats the mask as they are cut.
void check_trace(const Call& call) {
  if (call.type.rank() > 2) return;
  const Spec whole(call.spec.size());
  call.fail(
      "select `which` must be scalar or have the same sharding as cases, got `which` sharding {} but case sharding {}. The diagonal of {} "
      "is looked up by a mask that is not cut",
      abstract_sharding_text(whole, call.mesh), abstract_sharding_text(call.spec, call.mesh), call.text());
}

constexpr struct {
  std::string_view op;
  void (*check)(const Call&);
} kChecks[] = {{"repeat", check_repeat},        {"tile", check_tile},
               {"cumsum", check_cumulative},    {"cumprod", check_cumulative},
               {"nancumsum", check_cumulative}, {"nancumprod", check_cumulative},
               {"unstack", check_unstack},      {"pad", check_pad},
               {"trace", check_trace}};

}  // namespace

void check_typed_call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where) {
  const auto* found = std::find_if(std::begin(kChecks), std::end(kChecks), [&](const auto& each) { return each.op == op.name; });
  if (found == std::end(kChecks) || operands.empty() || !operands[0].is_array() || !operands[0].array().valid()) return;
  const Array& operand = operands[0].array();
  const auto& tracer = Context::current().tracer();
  const std::optional<Mesh> mesh = tracer ? tracer->mesh_of_types() : std::optional(operand.impl()->sharding.mesh());
  if (!mesh || (tracer ? tracer->typed_axes() : explicit_axes_of(*mesh)) == 0) return;
  Spec spec = traced_type(operand, *mesh).spec;
  if (tracer) spec = within(spec, tracer->typed_axes());
  if (axes_in(spec) != 0) found->check({op, attrs, operand.type(), spec, *mesh, where});
}

}  // namespace shardlab
