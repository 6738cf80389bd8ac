// Source of the formulas: the rules of jax.lax, primitive by primitive, so that gradients are laid out as JAX's.
#include "runtime/ops/elementwise_rules.h"

#include <cmath>

#include "runtime/ops/calls.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/unary.h"

namespace shardlab::ops {
namespace {

ValueId mul(GraphBuilder& b, ValueId x, ValueId y) { return binary(b, kMul, x, y); }
ValueId times(GraphBuilder& b, ValueId x, double factor) { return binary(b, kMul, x, factor); }
ValueId plus(GraphBuilder& b, ValueId x, double y) { return binary(b, kAdd, x, y); }
ValueId minus_from(GraphBuilder& b, double x, ValueId y) { return b.emit1(kSub, {filled(b, b.type(y), x), y}); }
ValueId squared(GraphBuilder& b, ValueId x) { return unary(b, kSquare, x); }
ValueId div(GraphBuilder& b, ValueId x, ValueId y) { return binary(b, kDiv, x, y); }
ValueId inverse_square(GraphBuilder& b, ValueId x) { return div(b, filled(b, b.type(x), 1.0), squared(b, x)); }
ValueId nonzero(GraphBuilder& b, ValueId x) {  // 1 where it is 0
  ValueId is_zero = binary(b, kEqual, x, 0.0);
  return b.emit1(kSelect, {is_zero, filled(b, b.type(x), 1.0), x});
}

// The operand as it was before it was repeated for the op: what a rule makes of it alone is less, and lies as it does, as in JAX.
ValueId as_given(GraphBuilder& b, ValueId operand) {
  const NodeId producer = b.graph().values[std::size_t(operand)].producer;
  if (producer < 0) return operand;
  const Node& node = b.graph().nodes[std::size_t(producer)];
  if (!node.attrs.has(kImplicit) || node.attrs.has(kRepeatedDim)) return operand;
  const ValueId given = node.operands[0];
  Shape shape(b.shape(operand).size(), 1);
  const auto& dims = node.attrs.integers("dims");
  for (std::size_t d = 0; d < dims.size(); ++d) shape[std::size_t(dims[d])] = b.shape(given)[d];
  return reshaped(b, given, shape);
}

// The sum over the operands that vary of tangent * factor(i).
template <typename F>
Values scaled_sum(GraphBuilder& b, const JvpArgs& args, F&& factor) {
  ValueId sum = kZero;
  for (std::size_t i = 0; i < args.tangents.size(); ++i)
    if (args.tangents[i] != kZero) sum = add_tangents(b, sum, mul(b, args.tangents[i], factor(i)));
  return {sum};
}

}  // namespace

// A function of x alone, given its derivative as an expression of x and the result y.
#define SHARDLAB_DERIVATIVE(name, ...)                                        \
  Values name##_jvp(GraphBuilder& b, const JvpArgs& args) {                   \
    [[maybe_unused]] const ValueId x = args.operands[0], y = args.results[0]; \
    const ValueId derivative = __VA_ARGS__;                                   \
    return {mul(b, args.tangents[0], derivative)};                            \
  }
SHARDLAB_DERIVATIVE(sin, unary(b, kCos, x))
SHARDLAB_DERIVATIVE(cos, unary(b, kNeg, unary(b, kSin, x)))
SHARDLAB_DERIVATIVE(tan, plus(b, squared(b, y), 1.0))
SHARDLAB_DERIVATIVE(asin, unary(b, kRsqrt, minus_from(b, 1.0, squared(b, x))))
SHARDLAB_DERIVATIVE(acos, unary(b, kNeg, unary(b, kRsqrt, minus_from(b, 1.0, squared(b, x)))))
SHARDLAB_DERIVATIVE(sinh, unary(b, kCosh, x))
SHARDLAB_DERIVATIVE(cosh, unary(b, kSinh, x))
SHARDLAB_DERIVATIVE(lgamma, unary(b, kDigamma, x))
SHARDLAB_DERIVATIVE(digamma, call(b, "zeta", {2.0, Term(b, x)}).id())
SHARDLAB_DERIVATIVE(asinh, unary(b, kRsqrt, plus(b, squared(b, x), 1.0)))
SHARDLAB_DERIVATIVE(exp, y)
SHARDLAB_DERIVATIVE(expm1, plus(b, y, 1.0))
SHARDLAB_DERIVATIVE(exp2, times(b, y, std::log(2.0)))
SHARDLAB_DERIVATIVE(sqrt, div(b, filled(b, b.type(x), 0.5), y))
SHARDLAB_DERIVATIVE(rsqrt, times(b, div(b, y, x), -0.5))
SHARDLAB_DERIVATIVE(cbrt, times(b, inverse_square(b, y), 1.0 / 3))
SHARDLAB_DERIVATIVE(square, times(b, x, 2.0))
SHARDLAB_DERIVATIVE(logistic, mul(b, y, minus_from(b, 1.0, y)))
SHARDLAB_DERIVATIVE(erf, times(b, unary(b, kExp, unary(b, kNeg, squared(b, x))), 2 / std::sqrt(M_PI)))
SHARDLAB_DERIVATIVE(erfc, times(b, unary(b, kExp, unary(b, kNeg, squared(b, x))), -2 / std::sqrt(M_PI)))
SHARDLAB_DERIVATIVE(expi, div(b, unary(b, kExp, x), x))
SHARDLAB_DERIVATIVE(erfcx, plus(b, times(b, mul(b, x, y), 2.0), -2 / std::sqrt(M_PI)))
SHARDLAB_DERIVATIVE(dawsn, minus_from(b, 1.0, times(b, mul(b, x, y), 2.0)))
SHARDLAB_DERIVATIVE(sine_integral, call("sinc", Term(b, x) / M_PI).id())
SHARDLAB_DERIVATIVE(cosine_integral, div(b, unary(b, kCos, x), x))
SHARDLAB_DERIVATIVE(fresnel_sine, unary(b, kSin, times(b, squared(b, x), M_PI / 2)))
SHARDLAB_DERIVATIVE(fresnel_cosine, unary(b, kCos, times(b, squared(b, x), M_PI / 2)))
SHARDLAB_DERIVATIVE(erf_inv, times(b, unary(b, kExp, squared(b, y)), std::sqrt(M_PI) / 2))
#undef SHARDLAB_DERIVATIVE

// Quotients of the tangent.
#define SHARDLAB_QUOTIENT(name, ...)                        \
  Values name##_jvp(GraphBuilder& b, const JvpArgs& args) { \
    const ValueId x = args.operands[0];                     \
    const ValueId divisor = __VA_ARGS__;                    \
    return {div(b, args.tangents[0], divisor)};             \
  }
SHARDLAB_QUOTIENT(log, x)
SHARDLAB_QUOTIENT(log1p, plus(b, x, 1.0))
SHARDLAB_QUOTIENT(atan, plus(b, squared(b, x), 1.0))
SHARDLAB_QUOTIENT(atanh, minus_from(b, 1.0, squared(b, x)))
#undef SHARDLAB_QUOTIENT

// (g + g y) (1 - y), which stays accurate where y is near -1.
Values tanh_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId g = args.tangents[0], y = args.results[0];
  return {mul(b, b.emit1(kAdd, {g, mul(b, g, y)}), minus_from(b, 1.0, y))};
}

// Of complex numbers the roots are taken apart: the root of their product has another branch.
Values acosh_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.operands[0];
  auto root = [&](double shift) { return unary(b, kRsqrt, plus(b, x, shift)); };
  ValueId derivative = is_complex(b.type(x).dtype) ? mul(b, root(-1.0), root(1.0)) : unary(b, kRsqrt, plus(b, squared(b, x), -1.0));
  return {mul(b, args.tangents[0], derivative)};
}

Values abs_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId g = args.tangents[0], x = args.operands[0];
  if (!is_complex(b.type(x).dtype)) return {b.emit1(kSelect, {binary(b, kGreaterEqual, x, 0.0), g, unary(b, kNeg, g)})};
  ValueId magnitude = nonzero(b, converted(b, args.results[0], b.type(x).dtype));
  return {unary(b, kReal, mul(b, g, div(b, unary(b, kConj, x), magnitude)))};
}

#define SHARDLAB_STEPS(name) \
  Values name##_jvp(GraphBuilder& b, const JvpArgs& args) { return zero_jvp(b, args); }
SHARDLAB_STEPS(sign)
SHARDLAB_STEPS(floor)
SHARDLAB_STEPS(ceil)
SHARDLAB_STEPS(round)
SHARDLAB_STEPS(trunc)
#undef SHARDLAB_STEPS

#define SHARDLAB_LINEAR(name) \
  Values name##_jvp(GraphBuilder& b, const JvpArgs& args) { return linear_jvp(b, args); }
SHARDLAB_LINEAR(neg)
SHARDLAB_LINEAR(conj)
SHARDLAB_LINEAR(real)
SHARDLAB_LINEAR(imag)
#undef SHARDLAB_LINEAR

Values neg_transpose(GraphBuilder& b, const TransposeArgs& args) { return {unary(b, kNeg, args.cotangents[0])}; }
Values conj_transpose(GraphBuilder& b, const TransposeArgs& args) { return {unary(b, kConj, args.cotangents[0])}; }
Values real_transpose(GraphBuilder& b, const TransposeArgs& args) {
  return {converted(b, args.cotangents[0], args.operand_types[0].dtype)};
}
// The real part of (0 - ct i) z is ct imag(z).
Values imag_transpose(GraphBuilder& b, const TransposeArgs& args) {
  ValueId wide = converted(b, args.cotangents[0], args.operand_types[0].dtype);
  return {mul(b, wide, filled(b, args.operand_types[0], Scalar{std::complex<double>(0, -1)}))};
}

Values complex_jvp(GraphBuilder& b, const JvpArgs& args) {
  auto part = [&](std::size_t i) { return args.tangents[i] == kZero ? filled(b, b.type(args.operands[i]), 0.0) : args.tangents[i]; };
  return {b.emit1(kComplex, {part(0), part(1)})};
}
Values complex_transpose(GraphBuilder& b, const TransposeArgs& args) {
  auto if_asked = [&](std::size_t i, auto&& part) { return args.operands[i] == kAsked ? part() : kZero; };
  const ValueId ct = args.cotangents[0];
  return {if_asked(0, [&] { return unary(b, kReal, ct); }), if_asked(1, [&] { return unary(b, kImag, unary(b, kNeg, ct)); })};
}

Values add_jvp(GraphBuilder& b, const JvpArgs& args) { return {add_tangents(b, args.tangents[0], args.tangents[1])}; }
Values add_transpose(GraphBuilder&, const TransposeArgs& args) { return {args.cotangents[0], args.cotangents[0]}; }

Values sub_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.tangents[0], y = args.tangents[1];
  if (y == kZero) return {x};
  return {x == kZero ? unary(b, kNeg, y) : b.emit1(kSub, {x, y})};
}
Values sub_transpose(GraphBuilder& b, const TransposeArgs& args) {
  ValueId ct = args.cotangents[0];
  return {ct, args.operands[1] == kAsked ? unary(b, kNeg, ct) : kZero};
}

Values mul_jvp(GraphBuilder& b, const JvpArgs& args) { return multilinear_jvp(b, args); }
Values mul_transpose(GraphBuilder& b, const TransposeArgs& args) {
  if (args.operands[0] == kAsked) return {mul(b, args.cotangents[0], args.operands[1]), kZero};
  return {kZero, mul(b, args.operands[0], args.cotangents[0])};
}

Values div_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.operands[0], y = as_given(b, args.operands[1]), sum = kZero;
  if (args.tangents[0] != kZero) sum = div(b, args.tangents[0], y);
  if (args.tangents[1] == kZero) return {sum};
  return {add_tangents(b, sum, mul(b, mul(b, unary(b, kNeg, args.tangents[1]), x), inverse_square(b, y)))};
}
Values div_transpose(GraphBuilder& b, const TransposeArgs& args) {
  if (args.operands[1] == kAsked)
    throw_user_error("Transpose rule (for reverse-mode differentiation) for 'div' by the variable: not linear");
  return {div(b, args.cotangents[0], args.operands[1]), kZero};
}

// The quotient, cut towards zero, is constant between steps.
Values rem_jvp(GraphBuilder& b, const JvpArgs& args) {
  if (args.tangents[1] == kZero) return {args.tangents[0]};
  ValueId quotient = div(b, args.operands[0], args.operands[1]);
  ValueId whole = mul(b, unary(b, kSign, quotient), unary(b, kFloor, unary(b, kAbs, quotient)));
  return {add_tangents(b, args.tangents[0], mul(b, unary(b, kNeg, args.tangents[1]), whole))};
}
// rem's, and the result made of it.
Values remainder_jvp(GraphBuilder& b, const JvpArgs& args) {
  const ValueId x = args.operands[0], y = args.operands[1], rest = b.emit1(kRem, {x, y});
  const ValueId is_off = b.emit1(kNotEqual, {binary(b, kLess, rest, 0.0), binary(b, kLess, y, 0.0)});
  const ValueId turns = b.emit1(kAnd, {is_off, binary(b, kNotEqual, rest, 0.0)});
  args.results[0] = b.emit1(kSelect, {turns, b.emit1(kAdd, {rest, y}), rest});
  const ValueId tangent = rem_jvp(b, args)[0];
  return {b.emit1(kSelect, {turns, add_tangents(b, tangent, args.tangents[1]), tangent})};
}

Values pow_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = as_given(b, args.operands[0]), y = as_given(b, args.operands[1]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i == 0) return mul(b, y, binary(b, kPow, x, plus(b, y, -1.0)));
    return mul(b, unary(b, kLog, nonzero(b, x)), args.results[0]);
  });
}

Values atan2_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = as_given(b, args.operands[0]), y = as_given(b, args.operands[1]);
  return scaled_sum(b, args, [&](std::size_t i) {
    const ValueId numerator = i == 0 ? y : unary(b, kNeg, x), square = squared(b, x);
    return div(b, numerator, binary(b, kAdd, square, squared(b, y)));
  });
}

// 1 for the one that won, 1/2 for both where they are equal.
static Values extremum_jvp(GraphBuilder& b, const JvpArgs& args) {
  const TensorType type = b.type(args.results[0]);
  return scaled_sum(b, args, [&](std::size_t i) {
    auto equals_result = [&](ValueId value, double yes, double no) {
      return b.emit1(kSelect, {b.emit1(kEqual, {value, args.results[0]}), filled(b, type, yes), filled(b, type, no)});
    };
    ValueId won = equals_result(args.operands[i], 1.0, 0.0);
    return div(b, won, equals_result(args.operands[1 - i], 2.0, 1.0));
  });
}
Values maximum_jvp(GraphBuilder& b, const JvpArgs& args) { return extremum_jvp(b, args); }
Values minimum_jvp(GraphBuilder& b, const JvpArgs& args) { return extremum_jvp(b, args); }

// e^-x x^(a-1) / gamma(a), which is integrated.
static ValueId gamma_density(GraphBuilder& b, ValueId a, ValueId x) {
  const Term shape(b, a), at(b, x);
  return call("exp", -at + (shape - 1.0) * call("log", at) - call("lgamma", shape)).id();
}
Values igamma_jvp(GraphBuilder& b, const JvpArgs& args) {
  const ValueId a = args.operands[0], x = args.operands[1];
  return scaled_sum(b, args, [&](std::size_t i) { return i == 1 ? gamma_density(b, a, x) : b.emit1(kIgammaGradA, {a, x}); });
}
Values igammac_jvp(GraphBuilder& b, const JvpArgs& args) { return {unary(b, kNeg, igamma_jvp(b, args)[0])}; }

// What igamma(a, x) leaves as it is moves x by g(a, x) with a: (the density of x) g = -(igamma's derivative by a), by which g's derivative
// by x is the one of -log(density) by a, and by x times g. Both sides by a, n times, give those of the further derivatives.
Values random_gamma_grad_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term a(b, args.operands[0]), x(b, args.operands[1]), y(b, args.results[0]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i == 0) return call(b, "random_gamma_grad_by_a", {1.0, a, x}).id();
    return where(x == 0.0, 0.0, call("digamma", a) - call("log", x) - y * ((a - 1.0) / x - 1.0)).id();
  });
}
Values random_gamma_grad_by_a_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term n(b, args.operands[0]), a(b, args.operands[1]), x(b, args.operands[2]), y(b, args.results[0]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i == 0) throw_user_error("random_gamma_grad_by_a counts derivatives by its first operand, which has none itself");
    if (i == 1) return call(b, "random_gamma_grad_by_a", {n + 1.0, a, x}).id();
    const Term lower = call(b, "random_gamma_grad_by_a", {call(b, "maximum", {n - 1.0, 0.0}), a, x});
    const Term of_density = call(b, "polygamma", {n, a}) - where(n == 0.0, call("log", x), 0.0);
    return where(x == 0.0, 0.0, of_density - y * ((a - 1.0) / x - 1.0) - n * lower / x).id();
  });
}

Values regularized_incomplete_beta_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term p(b, args.operands[0]), q(b, args.operands[1]), x(b, args.operands[2]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i < 2) throw_user_error("Betainc gradient with respect to a and b not supported.");
    const Term beta = call("lgamma", p) + call("lgamma", q) - call("lgamma", p + q);
    return call("exp", (q - 1.0) * call("log1p", -x) + (p - 1.0) * call("log", x) - beta).id();
  });
}

Values owens_t_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term h(b, args.operands[0]), a(b, args.operands[1]);
  ValueId sum = kZero;
  if (args.tangents[0] != kZero) {
    const Term bell = call("exp", -0.5 * call("square", h)), share = call("erf", a * h / std::sqrt(2.0));
    sum = mul(b, (bell * share * (-0.5 / std::sqrt(2 * M_PI))).id(), args.tangents[0]);
  }
  if (args.tangents[1] == kZero) return {sum};
  const Term wide = call("square", a) + 1.0;
  return {add_tangents(b, sum, mul(b, (call("exp", -0.5 * wide * call("square", h)) / (2 * M_PI * wide)).id(), args.tangents[1]))};
}

// -expn(n - 1, x); below n = 1 by the recurrence.
Values expn_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term n(b, args.operands[0]), x(b, args.operands[1]), y(b, args.results[0]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i == 0) throw_user_error("expn gradient with respect to n is not supported");
    const Term lower = call(b, "expn", {call(b, "maximum", {n - 1.0, 0.0}), x});
    return (-where(n < 1.0, (call("exp", -x) - (n - 1.0) * y) / x, lower)).id();
  });
}

// Tangents are rounded as well.
Values round_to_precision_jvp(GraphBuilder& b, const JvpArgs& args) {
  if (args.tangents[0] == kZero) return {kZero};
  return b.emit(args.op, {args.tangents[0], args.operands[1], args.operands[2]});
}
Values round_to_precision_transpose(GraphBuilder& b, const TransposeArgs& args) {
  return {b.emit1(args.op, {args.cotangents[0], args.operands[1], args.operands[2]}), kZero, kZero};
}

// 0 at 0, unlike the maximum that it is.
Values relu_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.operands[0], g = args.tangents[0];
  return {b.emit1(kSelect, {binary(b, kGreater, x, 0.0), g, filled(b, b.type(g), 0.0)})};
}

}  // namespace shardlab::ops
