// Elementwise functions of jax.numpy that are made of primitives, as JAX lowers them.
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/ops/compose.h"
#include "runtime/ops/elementwise.h"
#include "runtime/ops/largest.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/random.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ValueId inexact_value(GraphBuilder& b, const Arg& arg) {
  ValueId x = value_of(b, arg);
  return converted(b, x, inexact(b.type(x).dtype));
}
Values inexact_pair_apart(GraphBuilder& b, const OpDef& op, Args args) {
  return ranked_together(b, op.name, args, inexact(promoted_dtype(b, args)));
}
ValueId is_nan(GraphBuilder& b, ValueId x) { return b.emit1(kNotEqual, {x, x}); }
ValueId either(GraphBuilder& b, ValueId x, ValueId y) { return b.emit1(kOr, {x, y}); }
ValueId number_where(GraphBuilder& b, ValueId condition, double x, ValueId y) { return where(b, condition, filled(b, b.type(y), x), y); }
ValueId truth_like(GraphBuilder& b, ValueId x, bool value) { return filled(b, {DType::kBool, b.shape(x)}, Scalar{value}); }

// log(x) / log(base).
template <int kBase>
Values expand_log_base(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = inexact_value(b, args[0]);
  return {b.emit1(kDiv, {unary(b, kLog, x), unary(b, kLog, filled(b, b.type(x), double(kBase)))})};
}

template <bool kToRadians>
Values expand_angle_unit(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  return {binary(b, kMul, inexact_value(b, args[0]), kToRadians ? M_PI / 180 : 180 / M_PI)};
}

Values expand_reciprocal(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = inexact_value(b, args[0]);
  return {b.emit1(kDiv, {filled(b, b.type(x), 1.0), x})};
}

Values expand_positive(GraphBuilder& b, const OpDef&, Args args, const Attrs&) { return {value_of(b, args[0])}; }
Values expand_fabs(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  ValueId x = inexact_value(b, args[0]);
  if (is_complex(b.type(x).dtype)) throw_user_error("{} does not accept dtype {}; use abs", op.name, name_of(b.type(x).dtype));
  return {unary(b, kAbs, x)};
}

// The k-th derivative of sin(x) / x at 0, whose own derivative is the next.
Term sinc_derivative_at_0(const Term& x, int k) {
  auto value = [k](const Terms& at) { return filled_like(at[0], k % 2 != 0 ? 0 : (k % 4 == 0 ? 1.0 : -1.0) / (k + 1)); };
  auto tangent = [k](const Terms& at, const Term&, const Terms& tangents) { return sinc_derivative_at_0(at[0], k + 1) * tangents[0]; };
  return with_derivative({x}, {value, tangent});
}
// sin(pi x) / (pi x), 1 at 0.
Values expand_sinc(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  const Term x(b, inexact_value(b, args[0])), is_zero = x == 0.0, scaled = x * M_PI, safe = where(is_zero, 1.0, scaled);
  return {where(is_zero, sinc_derivative_at_0(scaled, 0), call("sin", safe) / safe).id()};
}

// The larger times sqrt(1 + ratio^2): without overflow. Infinite where a side is.
Values expand_hypot(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Values xy = inexact_pair_apart(b, op, args);
  if (is_complex(b.type(xy[0]).dtype)) throw_user_error("{} does not accept dtype {}; use abs", op.name, name_of(b.type(xy[0]).dtype));
  ValueId x = unary(b, kAbs, xy[0]), y = unary(b, kAbs, xy[1]);
  ValueId is_infinite = binary(b, kOr, binary(b, kEqual, x, kInfinity), binary(b, kEqual, y, kInfinity));
  ValueId larger = binary(b, kMaximum, x, y), smaller = binary(b, kMinimum, x, y);
  ValueId is_zero = binary(b, kEqual, larger, 0.0);
  ValueId ratio = b.emit1(kDiv, {smaller, number_where(b, is_zero, 1.0, larger)});
  ValueId root = unary(b, kSqrt, binary(b, kAdd, b.emit1(kMul, {ratio, ratio}), 1.0));
  return {number_where(b, is_infinite, kInfinity, where(b, is_zero, larger, b.emit1(kMul, {larger, root})))};
}

Values expand_heaviside(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Values xy = inexact_pair_apart(b, op, args);
  if (is_complex(b.type(xy[0]).dtype)) throw_user_error("{} does not accept dtype {}; take a part", op.name, name_of(b.type(xy[0]).dtype));
  const Term x(b, xy[0]), not_signed = where(Term(b, is_nan(b, x.id())), x, Term(b, xy[1]));
  const Term at_zero = where(x > 0.0, 1.0, not_signed);
  return {where(x < 0.0, 0.0, at_zero).id()};
}

// Whether the sign bit is set: that of -0.0 and of NaN too.
ValueId signbit(GraphBuilder& b, const OpDef& op, ValueId x) {
  DType dtype = b.type(x).dtype;
  if (is_complex(dtype)) throw_user_error("{} does not accept dtype {}; take a part", op.name, name_of(dtype));
  if (dtype == DType::kBool) return truth_like(b, x, false);
  if (is_integer(dtype)) return binary(b, kLess, x, 0.0);
  DType bits = size_of(dtype) == 2 ? DType::kInt16 : size_of(dtype) == 4 ? DType::kInt32 : DType::kInt64;
  return binary(b, kLess, b.emit1(kBitcast, {x}, Attrs{{"dtype", bits}}), 0.0);
}
Values expand_signbit(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) { return {signbit(b, op, value_of(b, args[0]))}; }

Values expand_copysign(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Values xy = inexact_pair_apart(b, op, args);
  const Term is_negative(b, signbit(b, op, xy[1])), negative = -Term(b, unary(b, kAbs, xy[0]));
  return {where(is_negative, negative, Term(b, unary(b, kAbs, xy[0]))).id()};
}

ValueId is_infinite(GraphBuilder& b, ValueId x) { return binary(b, kEqual, unary(b, kAbs, x), kInfinity); }

Values expand_isinf(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  if (is_floating(dtype)) return {is_infinite(b, x)};
  if (!is_complex(dtype)) return {truth_like(b, x, false)};
  ValueId re = is_infinite(b, unary(b, kReal, x));
  return {either(b, re, is_infinite(b, unary(b, kImag, x)))};
}

template <bool kPositive>
Values expand_is_signed_inf(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  if (is_complex(dtype)) throw_user_error("{} is not well defined for complex type {}; take a part", op.name, name_of(dtype));
  if (!is_floating(dtype)) return {truth_like(b, x, false)};
  return {binary(b, kEqual, x, kPositive ? kInfinity : -kInfinity)};
}

// NaN as 0 and infinities as the largest numbers, or what the attributes say.
Values expand_nan_to_num(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  if (is_complex(dtype)) {
    auto part = [&](const char* name) {
      return Term(b, expand_nan_to_num(b, op, std::vector<Arg>{call(name, Term(b, x)).id()}, attrs)[0]);
    };
    const Term real = part("real");
    return {call(b, "complex", {real, part("imag")}).id()};
  }
  if (!is_floating(dtype)) return {x};
  auto given = [&](std::string_view name, double otherwise) { return attrs.has(name) ? attrs.number(name) : otherwise; };
  ValueId result = number_where(b, is_nan(b, x), given("nan", 0), x);
  result = number_where(b, binary(b, kEqual, result, kInfinity), given("posinf", largest(dtype)), result);
  return {number_where(b, binary(b, kEqual, result, -kInfinity), given("neginf", -largest(dtype)), result)};
}

// The other operand where one is NaN.
template <const OpDef* kCompare>
Values expand_extremum_without_nan(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Values xy = ranked_together(b, op.name, args, promoted_dtype(b, args));
  const ValueId is_second_out = binary(b, *kCompare, xy[0], xy[1]);
  return {where(Term(b, binary(b, kOr, is_second_out, is_nan(b, xy[1]))), Term(b, xy[0]), Term(b, xy[1])).id()};
}

ValueId angle_of(GraphBuilder& b, Args args) {
  ValueId x = value_of(b, args[0], inexact_beside(b, dtype_of_arg(b, args[0]), WeakKind::kReal));
  if (!is_complex(b.type(x).dtype)) return b.emit1(kAtan2, {filled(b, b.type(x), 0.0), x});
  ValueId im = unary(b, kImag, x);
  return b.emit1(kAtan2, {im, unary(b, kReal, x)});
}
Values expand_angle(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  ValueId angle = angle_of(b, args);
  return {attrs.flag("deg") ? binary(b, kMul, angle, 180 / M_PI) : angle};
}

// The quotient rounded down, and the remainder with the sign of y.
// Of floats the remainder takes the divisor's sign, as in CPython; x / 0 is infinite.
Values expand_divmod(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  if (!is_floating(promoted_dtype(b, args))) {
    const OpDef& divide = *find_op("floor_divide");
    ValueId quotient = divide.expand(b, divide, args, {}).at(0);
    return {quotient, expand_promoted(b, kRemainder, args, {}).at(0)};
  }
  const Values xy = ranked_together(b, op.name, args, promoted_dtype(b, args));
  const Term x(b, xy[0]), y(b, xy[1]);
  const ValueId rest = binary(b, kRem, xy[0], xy[1]);
  const Term is_zero = y == 0.0, multiple = selected(is_zero, x, x - Term(b, rest));
  const ValueId quotient = binary(b, kDiv, multiple.id(), xy[1]);
  const ValueId is_other = binary(b, kNotEqual, rest, 0.0), sign = unary(b, kSign, xy[1]);
  const ValueId is_off = b.emit1(kAnd, {is_other, binary(b, kNotEqual, sign, unary(b, kSign, rest))});
  const ValueId remainder = b.emit1(kSelect, {is_off, binary(b, kAdd, rest, xy[1]), rest});
  return {unary(b, kRound, b.emit1(kSelect, {is_off, binary(b, kSub, quotient, 1.0), quotient})), remainder};
}

// The fraction, with the sign of x, and the whole part; of infinities no fraction, as in JAX.
Values expand_modf(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = inexact_value(b, args[0]);
  ValueId whole = unary(b, kTrunc, x);
  return {b.emit1(kSub, {x, whole}), whole};
}

struct Gcd {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    U a = x < T(0) ? U(0 - U(x)) : U(x), c = y < T(0) ? U(0 - U(y)) : U(y);
    return T(std::gcd(a, c));
  }
};

void check_whole(const OpDef& op, DType dtype) {
  if (!is_integer(dtype)) throw_user_error("Arguments to jax.numpy.{} must be integers, got {}; convert them", op.name, name_of(dtype));
}
Values whole_sizes(GraphBuilder& b, const OpDef& op, Args args) {
  check_whole(op, promoted_dtype(b, args));
  Values xy = ranked_together(b, op.name, args, promoted_dtype(b, args));
  if (is_signed_integer(b.type(xy[0]).dtype))
    for (ValueId& each : xy) each = unary(b, kAbs, each);
  return xy;
}
Values expand_gcd(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Values xy = whole_sizes(b, op, args);
  return {binary(b, op, xy[0], xy[1])};
}
Values expand_lcm(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const OpDef &gcd = *find_op("gcd"), &divide = *find_op("floor_divide");
  Values xy = whole_sizes(b, op, args);
  ValueId divisor = gcd.expand(b, gcd, std::vector<Arg>{xy[0], xy[1]}, {}).at(0);
  ValueId quotient = divide.expand(b, divide, std::vector<Arg>{xy[1], divisor}, {}).at(0);
  return {number_where(b, binary(b, kEqual, divisor, 0.0), 0.0, binary(b, kMul, xy[0], quotient))};
}

// |x - y| <= atol + rtol |y|; infinities are close to themselves, NaN to NaN if equal_nan says so.
Values expand_isclose(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Values xy = inexact_pair_apart(b, op, args);
  auto number = [&](std::string_view name, double otherwise) { return attrs.has(name) ? attrs.number(name) : otherwise; };
  ValueId distance = unary(b, kAbs, binary(b, kSub, xy[0], xy[1]));
  ValueId bound = binary(b, kAdd, binary(b, kMul, unary(b, kAbs, xy[1]), number("rtol", 1e-5)), number("atol", 1e-8));
  ValueId finite = unary(b, kIsFinite, is_complex(b.type(xy[1]).dtype) ? unary(b, kAbs, xy[1]) : xy[1]);
  ValueId near = binary(b, kAnd, finite, binary(b, kLessEqual, distance, bound));
  ValueId close = either(b, binary(b, kEqual, xy[0], xy[1]), near);
  if (attrs.flag("equal_nan")) {
    const ValueId is_first_nan = is_nan(b, xy[0]);
    close = either(b, close, binary(b, kAnd, is_first_nan, is_nan(b, xy[1])));
  }
  return {close};
}

constexpr AttrDef kNanAttrs[] = {{"copy", AttrDef::Kind::kLiteral, false, "accepted for JAX's sake; arrays are immutable"},
                                 {"nan", AttrDef::Kind::kNumber, false, "in place of NaN; 0 by default"},
                                 {"posinf", AttrDef::Kind::kNumber, false, "in place of infinity; the largest number by default"},
                                 {"neginf", AttrDef::Kind::kNumber, false, "in place of -infinity; the least number by default"}};
constexpr AttrDef kAngleAttrs[] = {{"deg", AttrDef::Kind::kFlag, false, "whether in degrees"}};
constexpr AttrDef kCloseAttrs[] = {{"rtol", AttrDef::Kind::kNumber, false, "relative to y; 1e-5 by default"},
                                   {"atol", AttrDef::Kind::kNumber, false, "absolute; 1e-8 by default"},
                                   {"equal_nan", AttrDef::Kind::kFlag, false, "whether NaN is close to NaN"}};
constexpr std::string_view kPositiveAliases[] = {"copy"};
constexpr std::string_view kRadiansAliases[] = {"radians"};
constexpr std::string_view kDegreesAliases[] = {"degrees"};

}  // namespace

extern const OpDef kLog2, kLog10, kDeg2rad, kRad2deg, kReciprocal, kPositive, kFabs, kSinc, kHypot, kHeaviside, kSignbit, kCopysign, kIsInf,
    kIsPosInf, kIsNegInf, kNanToNum, kFmax, kFmin, kAngle, kDivmod, kModf, kGcd, kLcm, kIsClose;

const OpDef kLog2 = composite_of({"log2", "The logarithm in base 2.", expand_log_base<2>});
const OpDef kLog10 = composite_of({"log10", "The logarithm in base 10.", expand_log_base<10>});
const OpDef kDeg2rad = composite_of({"deg2rad", "Degrees as radians.", expand_angle_unit<true>, 1, 1, {}, kRadiansAliases});
const OpDef kRad2deg = composite_of({"rad2deg", "Radians as degrees.", expand_angle_unit<false>, 1, 1, {}, kDegreesAliases});
const OpDef kReciprocal = weak_composite_of({"reciprocal", "1 / x.", expand_reciprocal});
const OpDef kPositive = weak_composite_of({"positive", "x itself.", expand_positive, 1, 1, {}, kPositiveAliases});
const OpDef kFabs = weak_composite_of({"fabs", "The absolute value as a float.", expand_fabs});
const OpDef kSinc = compiled_alone(composite_of({"sinc", "sin(pi x) / (pi x), and 1 at 0.", expand_sinc}));
const OpDef kHypot = compiled_alone(composite_of({"hypot", "sqrt(x^2 + y^2), without overflow.", expand_hypot, 2, 2}));
const OpDef kHeaviside =
    compiled_alone(composite_of({"heaviside", "0 below 0, 1 above it, y at it; NaN where x is.", expand_heaviside, 2, 2}));
const OpDef kSignbit = compiled_alone(weak_composite_of({"signbit", "Whether the sign bit is set, that of -0.0 too.", expand_signbit}));
const OpDef kCopysign = compiled_alone(weak_composite_of({"copysign", "The size of x with the sign of y.", expand_copysign, 2, 2}));
const OpDef kIsInf = compiled_alone(weak_composite_of({"isinf", "Whether it is infinite.", expand_isinf}));
const OpDef kIsPosInf = weak_composite_of({"isposinf", "Whether it is infinity.", expand_is_signed_inf<true>});
const OpDef kIsNegInf = weak_composite_of({"isneginf", "Whether it is -infinity.", expand_is_signed_inf<false>});
const OpDef kNanToNum =
    compiled_alone(composite_of({"nan_to_num", "NaN as 0, infinities as the largest numbers.", expand_nan_to_num, 1, 1, kNanAttrs}));
const OpDef kFmax = compiled_alone(
    weak_composite_of({"fmax", "The larger of x and y; the other one where one is NaN.", expand_extremum_without_nan<&kGreater>, 2, 2}));
const OpDef kFmin = compiled_alone(
    weak_composite_of({"fmin", "The smaller of x and y; the other one where one is NaN.", expand_extremum_without_nan<&kLess>, 2, 2}));
const OpDef kAngle =
    compiled_alone(weak_composite_of({"angle", "The angle of complex numbers in radians.", expand_angle, 1, 1, kAngleAttrs}));
const OpDef kDivmod = compiled_alone(weak_composite_of({"divmod", "The quotient rounded down, and the remainder.", expand_divmod, 2, 2}));
const OpDef kModf = compiled_alone(weak_composite_of({"modf", "The fraction and the whole part of x.", expand_modf}));
const OpDef kGcd = compiled_alone(strong(binary_op<Gcd>("gcd", "The greatest common divisor of integers.", expand_gcd)));
const OpDef kLcm = compiled_alone(composite_of({"lcm", "The least common multiple of integers.", expand_lcm, 2, 2}));
const OpDef kIsClose =
    compiled_alone(weak_composite_of({"isclose", "Whether |x - y| <= atol + rtol |y|.", expand_isclose, 2, 2, kCloseAttrs}));

}  // namespace shardlab::ops
