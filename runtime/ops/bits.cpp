// packbits, frexp, spacing and what looks at numbers' bits or kinds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

bool little_endian(const OpDef& op, const Attrs& attrs) {
  std::string order = attrs.has("bitorder") ? attrs.string("bitorder") : "big";
  if (order != "big" && order != "little") throw_user_error("{}: 'order' must be either 'little' or 'big', got '{}'", op.name, order);
  return order == "little";
}

// 0 … 7, or 7 … 0, along a last dimension of size 8.
Term bit_places(const Term& x, const OpDef& op, const Attrs& attrs, int rank) {
  Term places = numbers(x.builder(), DType::kUint8, 8);
  if (!little_endian(op, attrs)) places = call("flip", places);
  Shape shape(std::size_t(rank), 1);
  shape.back() = 8;
  return reshaped(places, shape);
}

Term moved(const Term& x, int from, int to) {
  return call("moveaxis", x, Attrs{{"source", std::int64_t(from)}, {"destination", std::int64_t(to)}});
}

Values expand_packbits(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  if (is_inexact(x.dtype())) throw_user_error("{}: array should be integer or boolean, got {}", op.name, x.text());
  x = converted(x.dtype() == DType::kBool ? x : x != 0, DType::kUint8);  // first, so that bytes are moved
  if (!attrs.has("axis")) x = raveled(x);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank()), last = x.rank() - 1;
  x = moved(x, axis, -1);
  std::int64_t size = x.size(last), bytes = (size + 7) / 8;
  if (size % 8 != 0) {
    Shape rest = x.shape();
    rest.back() = bytes * 8 - size;
    x = joined({x, Term(b, filled(b, {DType::kUint8, rest}, 0.0))}, last);
  }
  Shape shape = x.shape();
  shape.back() = bytes;
  shape.push_back(8);
  Term bits = call(b, "shift_left", {reshaped(x, shape), bit_places(x, op, attrs, last + 2)});
  return {moved(converted(summed(bits, {last + 1}), DType::kUint8), -1, axis).id()};
}

Values expand_unpackbits(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  if (x.dtype() != DType::kUint8) throw_user_error("{}: Expected an input array of unsigned byte data type, got {}", op.name, x.text());
  if (!attrs.has("axis")) x = raveled(x);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank()), last = x.rank() - 1;
  x = moved(x, axis, -1);
  Term ones(b, filled(b, {DType::kUint8, {8}}, 1.0));
  Shape shape = x.shape(), wide(std::size_t(last + 2), 1);
  wide.back() = 8;
  Term masks = call(b, "shift_left", {reshaped(ones, wide), bit_places(x, op, attrs, last + 2)});
  Term bits = converted(call(b, "and", {expanded(x, last + 1), masks}) > 0, DType::kUint8);
  shape.back() *= 8;
  check_shape(op.name, shape);
  Term result = reshaped(bits, shape);
  if (attrs.has("count")) {
    std::int64_t count = attrs.integer("count"), size = shape.back();
    if (count < 0) count += size;
    if (count < 0) throw_user_error("{}: count {} takes away more than the {} bits that there are", op.name, count - size, size);
    if (count <= size) {
      result = sliced(result, last, 0, count);
    } else {
      shape.back() = count - size;
      check_shape(op.name, shape);
      result = joined({result, Term(b, filled(b, {DType::kUint8, shape}, 0.0))}, last);
    }
  }
  return {moved(result, -1, axis).id()};
}

// How a float lies in memory.
struct Layout {
  DType integer;
  int mantissa, exponent;  // bits
  std::int64_t bias() const { return (std::int64_t(1) << (exponent - 1)) - 1; }
};
Layout layout_of(const OpDef& op, const Term& x) {
  switch (x.dtype()) {
    case DType::kBfloat16:
      return {DType::kInt16, 7, 8};
    case DType::kFloat16:
      return {DType::kInt16, 10, 5};
    case DType::kFloat32:
      return {DType::kInt32, 23, 8};
    case DType::kFloat64:
      return {DType::kInt64, 52, 11};
    default:
      throw_user_error("{} does not accept dtype {}; it takes real numbers", op.name, name_of(x.dtype()));
  }
}
Term as_bits(const Term& x, DType dtype) { return call("bitcast", x, Attrs{{"dtype", dtype}}); }

// A fraction between a half and 1, and the power of 2 that it is multiplied by.
struct Split {
  Term fraction, power;
};
Split split(const Term& x, const Layout& layout) {
  GraphBuilder& b = x.builder();
  Term is_small = call("abs", x) < std::ldexp(1.0, int(1 - layout.bias()));
  Term scaled = where(is_small, x * std::ldexp(1.0, layout.mantissa), x);
  Term bits = as_bits(scaled, layout.integer);
  std::int64_t mask = (std::int64_t(1) << layout.exponent) - 1;
  Term power = call(b, "and", {call(b, "shift_right_arithmetic", {bits, layout.mantissa}), mask}) - (layout.bias() - 1);
  power = converted(power, DType::kInt32);
  power = power + where(is_small, Term(b, filled(b, {DType::kInt32, x.shape()}, double(-layout.mantissa))),
                        Term(b, filled(b, {DType::kInt32, x.shape()}, 0.0)));
  Term cleared = call(b, "and", {bits, Scalar{std::int64_t(~(std::uint64_t(mask) << layout.mantissa))}});
  Term fraction = as_bits(call(b, "or", {cleared, (layout.bias() - 1) << layout.mantissa}), x.dtype());
  Term is_special = (!call("isfinite", x)) | (x == 0.0);
  return {where(is_special, x, fraction), where(is_special, 0, power)};
}
// With JAX's derivative: the power stays as it is.
Split differentiable_split(const OpDef& op, const Term& x) {
  const Layout layout = layout_of(op, x);
  auto value = [layout](const Terms& at) { return split(at[0], layout).fraction; };
  auto tangent = [layout](const Terms& at, const Term&, const Terms& tangents) {
    return tangents[0] * call("exp2", -converted(split(at[0], layout).power, at[0].dtype()));
  };
  return {with_derivative({x}, {value, tangent}), split(x, layout).power};
}
Values expand_frexp(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const auto [fraction, power] = differentiable_split(op, as_inexact(term(b, args[0])));
  return {fraction.id(), power.id()};
}

// x * 2^y; x is split, as in JAX, so that 2^y may be beyond all numbers where the result is not.
Values expand_ldexp(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Terms xy;
  for (ValueId id : broadcast_together(b, op.name, args, inexact(promoted_dtype(b, args)))) xy.emplace_back(b, id);
  const Term &x = xy[0], by = xy[1];
  const auto [fraction, own_power] = differentiable_split(op, x);
  const Term power = converted(own_power, x.dtype()) + by, is_up = power > 0.0;
  const Term result = where(is_up, fraction * 2.0, fraction) * call("exp2", where(is_up, power - 1.0, power));
  return {where(call("isinf", x) | (x == 0.0), x, result).id()};
}

// The distance to the next number away from 0; of float16, as in JAX, to the next larger one. A distance that would be denormal counts as
// zero in arithmetic, and is JAX's smallest number.
Values expand_spacing(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term x = as_inexact(term(b, args[0]));
  const Layout layout = layout_of(op, x);
  const Term upwards = filled_like(x, std::numeric_limits<double>::infinity());
  if (x.dtype() == DType::kFloat16) return {(call(b, "nextafter", {x, upwards}) - x).id()};
  const Term distance = call(b, "nextafter", {x, call(b, "copysign", {upwards, x})}) - x;
  const Term smallest = filled_like(x, std::ldexp(1.0, int(1 - layout.bias() - layout.mantissa)));
  return {where(distance == 0.0, call(b, "copysign", {smallest, x}), distance).id()};
}

template <bool kComplex>
Values expand_iscomplex(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Term x = term(b, args[0]);
  if (!is_complex(x.dtype())) return {Term(b, filled(b, {DType::kBool, x.shape()}, kComplex ? 0.0 : 1.0)).id()};
  Term imaginary = call("imag", x);
  return {kComplex ? (imaginary != 0.0).id() : (imaginary == 0.0).id()};
}

Values expand_float_power(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  DType dtype = inexact(promoted_dtype(b, args));
  return {call(b, "power", {Term(b, value_of(b, args[0], dtype)), Term(b, value_of(b, args[1], dtype))}).id()};
}

Values expand_array_equiv(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Shape x = shape_of_arg(b, args[0]), y = shape_of_arg(b, args[1]);
  try {
    broadcast_shapes("array_equiv", {x, y});
  } catch (const UserError&) { return {scalar_constant(b, DType::kBool, 0.0)}; }
  std::vector<Term> both = promoted_terms(b, args);
  return {call("all", both[0] == both[1]).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kBitorder = {"bitorder", Kind::kString, false, "big (default) or little"};
constexpr AttrDef kPackAttrs[] = {{"axis", Kind::kInteger, false, "along which; over all elements in order by default"}, kBitorder};
constexpr AttrDef kUnpackAttrs[] = {
    kPackAttrs[0], {"count", Kind::kInteger, false, "how many bits to keep; negative: how many to leave"}, kBitorder};
}  // namespace

extern const OpDef kPackbits, kUnpackbits, kFrexp, kLdexp, kSpacing, kIscomplex, kIsreal, kFloatPower, kArrayEquiv;

const OpDef kPackbits = compiled_alone(composite_of({"packbits", "Eight truths a byte.", expand_packbits, 1, 1, kPackAttrs}));
const OpDef kUnpackbits = compiled_alone(composite_of({"unpackbits", "The bits of bytes.", expand_unpackbits, 1, 1, kUnpackAttrs}));
const OpDef kFrexp =
    compiled_alone(composite_of({"frexp", "A fraction from a half to 1, and the power of 2 that makes x of it.", expand_frexp}));
const OpDef kLdexp = compiled_alone(composite_of({"ldexp", "x times 2 to the power y.", expand_ldexp, 2, 2}));
const OpDef kSpacing = composite_of({"spacing", "The distance to the next number away from 0.", expand_spacing});
const OpDef kIscomplex = compiled_alone(composite_of({"iscomplex", "Which elements have an imaginary part.", expand_iscomplex<true>}));
const OpDef kIsreal = compiled_alone(composite_of({"isreal", "Which elements have no imaginary part.", expand_iscomplex<false>}));
const OpDef kFloatPower = weak_composite_of({"float_power", "x to the power y, of floats.", expand_float_power, 2, 2});
const OpDef kArrayEquiv = composite_of({"array_equiv", "Whether all elements are equal after broadcasting.", expand_array_equiv, 2, 2});
}  // namespace shardlab::ops
