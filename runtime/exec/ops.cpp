#include "runtime/exec/ops.h"

#include <algorithm>

#include "runtime/base/at_place.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/explicit_types.h"
#include "runtime/exec/op_call.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/spec_mesh.h"
#include "runtime/exec/unconstrained.h"
#include "runtime/exec/varying_types.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

// A string literal as template argument, so that each op has its own cached definition.
template <std::size_t N>
struct Name {
  constexpr Name(const char (&literal)[N]) { std::copy_n(literal, N, text); }  // NOLINT: implicit on purpose
  constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N] = {};
};

const OpDef& required_op(std::string_view name) {
  const OpDef* op = find_op(name);
  SL_CHECK(op != nullptr, "the registry has no op '{}'", name);
  return *op;
}

template <Name name>
const OpDef& op() {
  static const OpDef& def = required_op(name.view());
  return def;
}

template <Name name>
Array call_at(Where where, std::vector<Operand> operands, const Attrs& attrs = {}) {
  return std::move(apply(op<name>(), operands, attrs, where).at(0));
}

// The line of the call is the first operand's.
template <Name name>
Array call(std::vector<Operand> operands, const Attrs& attrs = {}) {
  Where where = operands.empty() ? Where{} : operands.front().where();
  return call_at<name>(where, std::move(operands), attrs);
}

template <Name name>
Array call_to(const OutOptions& options, const std::vector<Operand>& operands, const Attrs& attrs = {}) {
  Where where = operands.empty() ? Where{} : operands.front().where();
  std::optional<Sharding> out;
  if (options.out_sharding) out = options.out_sharding->on_mesh_of(operands, where);
  return std::move(apply_to(op<name>(), operands, attrs, where, out).at(0));
}

template <Name name>
Array call_on_axis(const Operand& x, const AxisList& axis) {
  return call<name>({x}, detail::on(axis));
}

template <Name name>
Array reduce(const Operand& x, const ReduceOptions& options) {
  Attrs attrs = detail::on(options.axis);
  if (options.keepdims) attrs.set("keepdims", true);
  return call<name>({x}, attrs);
}

template <Name name>
Array reduce(const Operand& x, const VarianceOptions& options) {
  Attrs attrs = detail::on(options.axis);
  if (options.keepdims) attrs.set("keepdims", true);
  if (options.ddof != 0) attrs.set("ddof", options.ddof);
  return call<name>({x}, attrs);
}

Attrs dtype_attrs(std::optional<DType> dtype) {
  Attrs attrs;
  if (dtype) attrs.set("dtype", *dtype);
  return attrs;
}

}  // namespace

Operands::Operands(const std::vector<Array>& arrays, std::source_location where) {
  for (const Array& array : arrays) operands_.emplace_back(array, where);
}

namespace {

Array made(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs, const OutOptions& options, Where where) {
  return std::move(apply_to(op, operands, attrs, where, options.out_sharding).at(0));
}

}  // namespace

Array arange(const Operand& stop, std::optional<DType> dtype, const OutOptions& options) {
  return made("arange", {stop}, dtype_attrs(dtype), options, stop.where());
}
Array arange(const Operand& start, const Operand& stop, std::optional<DType> dtype, const OutOptions& options) {
  return made("arange", {start, stop}, dtype_attrs(dtype), options, start.where());
}
Array arange(const Operand& start, const Operand& stop, const Operand& step, std::optional<DType> dtype, const OutOptions& options) {
  return made("arange", {start, stop, step}, dtype_attrs(dtype), options, start.where());
}
Array zeros(const Shape& shape, std::optional<DType> dtype, const OutOptions& options, std::source_location where) {
  return made("zeros", {}, dtype_attrs(dtype).set("shape", shape), options, Where::from(where));
}
Array ones(const Shape& shape, std::optional<DType> dtype, const OutOptions& options, std::source_location where) {
  return made("ones", {}, dtype_attrs(dtype).set("shape", shape), options, Where::from(where));
}
Array full(const Shape& shape, const Operand& value, std::optional<DType> dtype, const OutOptions& options) {
  return made("full", {value}, dtype_attrs(dtype).set("shape", shape), options, value.where());
}
namespace {
Array like(const Operand& x, const Array& made) { return x.is_array() ? varying_like(made, x.array()) : made; }
}  // namespace
Array zeros_like(const Operand& x, std::optional<DType> dtype) { return like(x, call<"zeros_like">({x}, dtype_attrs(dtype))); }
Array ones_like(const Operand& x, std::optional<DType> dtype) { return like(x, call<"ones_like">({x}, dtype_attrs(dtype))); }
Array full_like(const Operand& x, const Operand& value, std::optional<DType> dtype) {
  return like(x, call<"full_like">({x, value}, dtype_attrs(dtype)));
}
Array linspace(const Operand& start, const Operand& stop, std::int64_t num) { return call<"linspace">({start, stop}, {{"num", num}}); }
Array eye(const Operand& n, std::optional<DType> dtype, const OutOptions& options) {
  return made("eye", {n}, dtype_attrs(dtype), options, n.where());
}
Array eye(const Operand& n, const Operand& m, std::int64_t k, std::optional<DType> dtype, const OutOptions& options) {
  return made("eye", {n, m}, dtype_attrs(dtype).set("k", k), options, n.where());
}
Array iota(DType dtype, const Shape& shape, std::int64_t dimension, const OutOptions& options, std::source_location where) {
  return made("iota", {}, {{"dtype", dtype}, {"shape", shape}, {"dimension", dimension}}, options, Where::from(where));
}

Array sin(const Operand& x) { return call<"sin">({x}); }
Array cos(const Operand& x) { return call<"cos">({x}); }
Array tan(const Operand& x) { return call<"tan">({x}); }
Array tanh(const Operand& x) { return call<"tanh">({x}); }
Array exp(const Operand& x) { return call<"exp">({x}); }
Array expm1(const Operand& x) { return call<"expm1">({x}); }
Array log(const Operand& x) { return call<"log">({x}); }
Array log1p(const Operand& x) { return call<"log1p">({x}); }
Array sqrt(const Operand& x) { return call<"sqrt">({x}); }
Array rsqrt(const Operand& x) { return call<"rsqrt">({x}); }
Array abs(const Operand& x) { return call<"abs">({x}); }
Array sign(const Operand& x) { return call<"sign">({x}); }
Array floor(const Operand& x) { return call<"floor">({x}); }
Array ceil(const Operand& x) { return call<"ceil">({x}); }
Array round(const Operand& x) { return call<"round">({x}); }
Array negative(const Operand& x) { return call<"negative">({x}); }
Array square(const Operand& x) { return call<"square">({x}); }
Array logical_not(const Operand& x) { return call<"logical_not">({x}); }
Array invert(const Operand& x) { return call<"invert">({x}); }
Array isnan(const Operand& x) { return call<"isnan">({x}); }
Array isfinite(const Operand& x) { return call<"isfinite">({x}); }
Array conj(const Operand& x) { return call<"conj">({x}); }
Array imag(const Operand& x) { return call<"imag">({x}); }
Array real(const Operand& x) { return call<"real">({x}); }
Array log2(const Operand& x) { return call<"log2">({x}); }
Array log10(const Operand& x) { return call<"log10">({x}); }
Array exp2(const Operand& x) { return call<"exp2">({x}); }
Array cbrt(const Operand& x) { return call<"cbrt">({x}); }
Array trunc(const Operand& x) { return call<"trunc">({x}); }
Array sinh(const Operand& x) { return call<"sinh">({x}); }
Array cosh(const Operand& x) { return call<"cosh">({x}); }
Array arcsin(const Operand& x) { return call<"arcsin">({x}); }
Array arccos(const Operand& x) { return call<"arccos">({x}); }
Array arctan(const Operand& x) { return call<"arctan">({x}); }
Array arcsinh(const Operand& x) { return call<"arcsinh">({x}); }
Array arccosh(const Operand& x) { return call<"arccosh">({x}); }
Array arctanh(const Operand& x) { return call<"arctanh">({x}); }
Array deg2rad(const Operand& x) { return call<"deg2rad">({x}); }
Array rad2deg(const Operand& x) { return call<"rad2deg">({x}); }
Array reciprocal(const Operand& x) { return call<"reciprocal">({x}); }
Array positive(const Operand& x) { return call<"positive">({x}); }
Array fabs(const Operand& x) { return call<"fabs">({x}); }
Array sinc(const Operand& x) { return call<"sinc">({x}); }
Array signbit(const Operand& x) { return call<"signbit">({x}); }
Array isinf(const Operand& x) { return call<"isinf">({x}); }
Array isposinf(const Operand& x) { return call<"isposinf">({x}); }
Array isneginf(const Operand& x) { return call<"isneginf">({x}); }
Array nan_to_num(const Operand& x) { return call<"nan_to_num">({x}); }
Array angle(const Operand& x) { return call<"angle">({x}); }
Array erfc(const Operand& x) { return call<"erfc">({x}); }
Array erf_inv(const Operand& x) { return call<"erf_inv">({x}); }
Array lgamma(const Operand& x) { return call<"lgamma">({x}); }
Array digamma(const Operand& x) { return call<"digamma">({x}); }
Array population_count(const Operand& x) { return call<"population_count">({x}); }
Array elu(const Operand& x) { return call<"elu">({x}); }
Array elu(const Operand& x, const Operand& alpha) { return call<"elu">({x, alpha}); }
Array celu(const Operand& x) { return call<"celu">({x}); }
Array celu(const Operand& x, const Operand& alpha) { return call<"celu">({x, alpha}); }
Array selu(const Operand& x) { return call<"selu">({x}); }
Array leaky_relu(const Operand& x) { return call<"leaky_relu">({x}); }
Array leaky_relu(const Operand& x, const Operand& negative_slope) { return call<"leaky_relu">({x, negative_slope}); }
Array relu6(const Operand& x) { return call<"relu6">({x}); }
Array hard_sigmoid(const Operand& x) { return call<"hard_sigmoid">({x}); }
Array hard_silu(const Operand& x) { return call<"hard_silu">({x}); }
Array hard_tanh(const Operand& x) { return call<"hard_tanh">({x}); }
Array soft_sign(const Operand& x) { return call<"soft_sign">({x}); }
Array log_sigmoid(const Operand& x) { return call<"log_sigmoid">({x}); }
Array mish(const Operand& x) { return call<"mish">({x}); }
Array bitcast(const Operand& x, DType dtype) { return call<"bitcast">({x}, {{"dtype", dtype}}); }
Array one_hot(const Operand& x, std::int64_t num_classes, std::optional<DType> dtype) {
  return call<"one_hot">({x}, dtype_attrs(dtype).set("num_classes", num_classes));
}
Array erf(const Operand& x) { return call<"erf">({x}); }
Array relu(const Operand& x) { return call<"relu">({x}); }
Array gelu(const Operand& x) { return call<"gelu">({x}); }
Array softplus(const Operand& x) { return call<"softplus">({x}); }
Array silu(const Operand& x) { return call<"silu">({x}); }
Array logistic(const Operand& x) { return call<"logistic">({x}); }
Array stop_gradient(const Operand& x) { return call<"stop_gradient">({x}); }
Array checkpoint_name(const Operand& x, std::string name) { return call<"checkpoint_name">({x}, {{"name", std::move(name)}}); }
Array astype(const Operand& x, DType dtype) { return call<"convert">({x}, {{"dtype", dtype}}); }

Array add(const Operand& x, const Operand& y) { return call<"add">({x, y}); }
Array subtract(const Operand& x, const Operand& y) { return call<"subtract">({x, y}); }
Array multiply(const Operand& x, const Operand& y) { return call<"multiply">({x, y}); }
Array divide(const Operand& x, const Operand& y) { return call<"divide">({x, y}); }
Array floor_divide(const Operand& x, const Operand& y) { return call<"floor_divide">({x, y}); }
Array remainder(const Operand& x, const Operand& y) { return call<"remainder">({x, y}); }
Array power(const Operand& x, const Operand& y) { return call<"power">({x, y}); }
Array fmod(const Operand& x, const Operand& y) { return call<"fmod">({x, y}); }
Array hypot(const Operand& x, const Operand& y) { return call<"hypot">({x, y}); }
Array logaddexp(const Operand& x, const Operand& y) { return call<"logaddexp">({x, y}); }
Array logaddexp2(const Operand& x, const Operand& y) { return call<"logaddexp2">({x, y}); }
Array heaviside(const Operand& x, const Operand& y) { return call<"heaviside">({x, y}); }
Array copysign(const Operand& x, const Operand& y) { return call<"copysign">({x, y}); }
Array nextafter(const Operand& x, const Operand& y) { return call<"nextafter">({x, y}); }
Array fmax(const Operand& x, const Operand& y) { return call<"fmax">({x, y}); }
Array fmin(const Operand& x, const Operand& y) { return call<"fmin">({x, y}); }
Array gcd(const Operand& x, const Operand& y) { return call<"gcd">({x, y}); }
Array lcm(const Operand& x, const Operand& y) { return call<"lcm">({x, y}); }
Array left_shift(const Operand& x, const Operand& y) { return call<"left_shift">({x, y}); }
Array right_shift(const Operand& x, const Operand& y) { return call<"right_shift">({x, y}); }
Array isclose(const Operand& x, const Operand& y) { return call<"isclose">({x, y}); }
Array complex(const Operand& re, const Operand& im) { return call<"complex">({re, im}); }
Array arctan2(const Operand& x, const Operand& y) { return call<"arctan2">({x, y}); }
Array maximum(const Operand& x, const Operand& y) { return call<"maximum">({x, y}); }
Array minimum(const Operand& x, const Operand& y) { return call<"minimum">({x, y}); }
Array logical_and(const Operand& x, const Operand& y) { return call<"logical_and">({x, y}); }
Array logical_or(const Operand& x, const Operand& y) { return call<"logical_or">({x, y}); }
Array logical_xor(const Operand& x, const Operand& y) { return call<"logical_xor">({x, y}); }
Array bitwise_and(const Operand& x, const Operand& y) { return call<"bitwise_and">({x, y}); }
Array bitwise_or(const Operand& x, const Operand& y) { return call<"bitwise_or">({x, y}); }
Array bitwise_xor(const Operand& x, const Operand& y) { return call<"bitwise_xor">({x, y}); }
Array equal(const Operand& x, const Operand& y) { return call<"equal">({x, y}); }
Array not_equal(const Operand& x, const Operand& y) { return call<"not_equal">({x, y}); }
Array less(const Operand& x, const Operand& y) { return call<"less">({x, y}); }
Array less_equal(const Operand& x, const Operand& y) { return call<"less_equal">({x, y}); }
Array greater(const Operand& x, const Operand& y) { return call<"greater">({x, y}); }
Array greater_equal(const Operand& x, const Operand& y) { return call<"greater_equal">({x, y}); }
Array where(const Operand& condition, const Operand& x, const Operand& y) { return call<"where">({condition, x, y}); }
Array select(const Operand& condition, const Operand& x, const Operand& y) { return call<"select">({condition, x, y}); }
Array clip(const Operand& x, const Operand& low, const Operand& high) { return call<"clip">({x, low, high}); }

Array operator+(const Operand& x, const Operand& y) { return add(x, y); }
Array operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
Array operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
Array operator/(const Operand& x, const Operand& y) { return divide(x, y); }
Array operator%(const Operand& x, const Operand& y) { return remainder(x, y); }
Array operator&(const Operand& x, const Operand& y) { return bitwise_and(x, y); }
Array operator|(const Operand& x, const Operand& y) { return bitwise_or(x, y); }
Array operator^(const Operand& x, const Operand& y) { return bitwise_xor(x, y); }
Array operator-(const Operand& x) { return negative(x); }
Array operator~(const Operand& x) { return invert(x); }
Array operator==(const Operand& x, const Operand& y) { return equal(x, y); }
Array operator!=(const Operand& x, const Operand& y) { return not_equal(x, y); }
Array operator<(const Operand& x, const Operand& y) { return less(x, y); }
Array operator<=(const Operand& x, const Operand& y) { return less_equal(x, y); }
Array operator>(const Operand& x, const Operand& y) { return greater(x, y); }
Array operator>=(const Operand& x, const Operand& y) { return greater_equal(x, y); }

Array sum(const Operand& x, const ReduceOptions& options) { return reduce<"sum">(x, options); }
Array prod(const Operand& x, const ReduceOptions& options) { return reduce<"prod">(x, options); }
Array max(const Operand& x, const ReduceOptions& options) { return reduce<"max">(x, options); }
Array min(const Operand& x, const ReduceOptions& options) { return reduce<"min">(x, options); }
Array mean(const Operand& x, const ReduceOptions& options) { return reduce<"mean">(x, options); }
Array any(const Operand& x, const ReduceOptions& options) { return reduce<"any">(x, options); }
Array all(const Operand& x, const ReduceOptions& options) { return reduce<"all">(x, options); }
Array nansum(const Operand& x, const ReduceOptions& options) { return reduce<"nansum">(x, options); }
Array nanprod(const Operand& x, const ReduceOptions& options) { return reduce<"nanprod">(x, options); }
Array nanmax(const Operand& x, const ReduceOptions& options) { return reduce<"nanmax">(x, options); }
Array nanmin(const Operand& x, const ReduceOptions& options) { return reduce<"nanmin">(x, options); }
Array nanmean(const Operand& x, const ReduceOptions& options) { return reduce<"nanmean">(x, options); }
Array ptp(const Operand& x, const ReduceOptions& options) { return reduce<"ptp">(x, options); }
Array count_nonzero(const Operand& x, const ReduceOptions& options) { return reduce<"count_nonzero">(x, options); }
Array nanvar(const Operand& x, const VarianceOptions& options) { return reduce<"nanvar">(x, options); }
Array nanstd(const Operand& x, const VarianceOptions& options) { return reduce<"nanstd">(x, options); }
Array logsumexp(const Operand& x, const ReduceOptions& options) { return reduce<"logsumexp">(x, options); }
Array var(const Operand& x, const VarianceOptions& options) { return reduce<"var">(x, options); }
Array std_(const Operand& x, const VarianceOptions& options) { return reduce<"std">(x, options); }
Array softmax(const Operand& x, const AxisList& axis) { return call_on_axis<"softmax">(x, axis); }
Array log_softmax(const Operand& x, const AxisList& axis) { return call_on_axis<"log_softmax">(x, axis); }

Array reshape(const Operand& x, const Shape& shape, const OutOptions& options) {
  return call_to<"reshape">(options, {x}, {{"shape", shape}});
}
Array ravel(const Operand& x) { return call<"ravel">({x}); }
Array transpose(const Operand& x) { return call<"transpose">({x}); }
Array transpose(const Operand& x, const std::vector<std::int64_t>& axes) { return call<"transpose">({x}, {{"axes", axes}}); }
Array broadcast_to(const Operand& x, const Shape& shape) { return call<"broadcast_to">({x}, {{"shape", shape}}); }
Array expand_dims(const Operand& x, const AxisList& axis) { return call_on_axis<"expand_dims">(x, axis); }
Array squeeze(const Operand& x, const AxisList& axis) { return call_on_axis<"squeeze">(x, axis); }

Array matmul(const Operand& x, const Operand& y, const OutOptions& options) { return call_to<"matmul">(options, {x, y}); }
Array dot(const Operand& x, const Operand& y, const OutOptions& options) { return call_to<"dot">(options, {x, y}); }
Array einsum(std::string_view subscripts, const Operands& operands, const OutOptions& options) {
  return call_to<"einsum">(options, operands.operands(), {{"subscripts", std::string(subscripts)}});
}
Array einsum(std::string_view subscripts, const Operand& x, const OutOptions& options) { return einsum(subscripts, Operands{x}, options); }
Array einsum(std::string_view subscripts, const Operand& x, const Operand& y, const OutOptions& options) {
  return einsum(subscripts, Operands{x, y}, options);
}

// Inside jit device_put is the constraint.
Array with_sharding_constraint(const Operand& x, const Sharding& sharding) {
  const Mesh& mesh = sharding.mesh();
  if (!mesh.has_explicit_axes() || !x.is_array()) return device_put(x, sharding);
  const bool lies_on_it = Context::current().tracer() || x.array().sharding().mesh() == mesh;
  if (Context::current().tracer() || (!mesh.is_explicit() && lies_on_it))
    return apply("with_sharding_constraint", {x}, Attrs{{"sharding", sharding}, {"assertion", true}}, x.where()).at(0);
  if (!mesh.is_explicit()) return device_put(x, sharding);
  if (!x.array().sharding().is_equivalent_to(sharding, x.array().shape()))
    throw_user_error("{} [{}]", failed_assertion_text(x.array().sharding().spec_text(), sharding.spec_text()), x.where().text());
  return x.array();
}
Array with_sharding_constraint(const Operand& x, const PartitionSpec& spec) {
  const auto& entries = spec.entries();
  if (std::find(entries.begin(), entries.end(), SpecEntry(UNCONSTRAINED)) != entries.end())
    if (auto mesh = mesh_for_specs({x})) return with_sharding_constraint(x, *mesh, spec);
  const Sharding sharding = OutSharding(spec).on_mesh_of({x}, x.where());
  return sharding.mesh().has_explicit_axes() ? with_sharding_constraint(x, sharding) : device_put(x, sharding);
}
Array reshard(const Operand& x, const Sharding& given) {
  const Mesh& mesh = given.mesh();
  // An entry for each dimension; empty ones beyond them say nothing.
  const Sharding sharding =
      x.is_array() && x.array().valid() ? at_place(x.where(), [&] { return Sharding(mesh, given.spec(x.array().ndim())); }) : given;
  const bool is_traced = Context::current().tracer() != nullptr;
  const bool lies_on_it = x.is_array() && !is_traced && x.array().valid() && x.array().sharding().mesh() == mesh;
  if (is_traced || (lies_on_it && is_partly_explicit(mesh))) return resharded(x, sharding, "reshard");
  return device_put(x, sharding);
}
Array reshard(const Operand& x, const PartitionSpec& spec) { return reshard(x, OutSharding(spec).on_mesh_of({x}, x.where())); }

}  // namespace shardlab
