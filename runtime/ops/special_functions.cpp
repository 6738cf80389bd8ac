// i0, entr, xlogy, ndtr and other special functions of jax.scipy.special, made of elementwise primitives.
#include <cmath>
#include <limits>

#include "runtime/ops/loops.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Term> inexact_terms(GraphBuilder& b, const OpDef& op, Args args) {
  std::vector<Term> terms;
  DType dtype = inexact(promoted_dtype(b, args));
  for (ValueId id : ranked_together(b, op.name, args, dtype)) terms.emplace_back(b, id);
  return terms;
}
Term inexact_term(GraphBuilder& b, const OpDef& op, Args args) { return inexact_terms(b, op, args)[0]; }

// Chebyshev coefficients of exp(-x) I0(x) and exp(-x) I1(x) / x over [0, 8], and of both times sqrt(x) over 8 / x in (0, 1]; fitted to
// SciPy's values, exact to 2e-15 of them.
constexpr double kI0Small[] = {
    0.33839763720473803,     -0.30468267234319829,    0.17162090152220871,     -0.094901097048047903,   0.049305284239670698,
    -0.023737414805899436,   0.010546460394595149,    -0.0043243099950508465,  0.0016394756169412778,   -0.00057637557453881795,
    0.00018850288509590369,  -5.7541950101027573e-05, 1.6448448070793826e-05,  -4.4167383586757341e-06, 1.1173875391623515e-06,
    -2.6707938560188724e-07, 6.0469950380337449e-08,  -1.3000250176364863e-08, 2.6598236252395332e-09,  -5.1897969532976908e-10,
    9.6758102918759265e-11,  -1.726830345383236e-11,  2.9549918068028125e-12,  -4.8584192224865357e-13, 7.7010620103124044e-14,
    -1.2029266471813577e-14, 2.1007501294079154e-15,  -4.1078251911130833e-16, 1.9984014443252838e-16,  -5.1070259132757246e-16};
constexpr double kI0Large[] = {
    0.40224520550705439,     0.0033691164782557112,   6.8897583469147551e-05, 2.8913705208264384e-06,  2.048918589682338e-07,
    2.2666689875050495e-08,  3.3962320235194499e-09,  4.9406024462544952e-10, 1.1889124949295009e-11,  -3.1499129585048371e-11,
    -1.3215788814864576e-11, -1.7941966488910229e-12, 7.1801930720538665e-13, 3.8528754839339837e-13,  1.5416140586310694e-14,
    -4.1465095246273633e-14, -9.5531276032151426e-15, 3.8086938117243301e-15, 1.764994400632603e-15,   -3.4269462267921851e-16,
    -2.9432836376464012e-16, 6.1062266354383664e-17,  7.2988490251724237e-17, -4.3801767768414408e-18, 2.3744027577432565e-18};
constexpr double kI1Small[] = {
    0.12629359322181682,     -0.17641651835783417,    0.10264365868984707,     -0.052945981208095148,   0.024726449030626527,
    -0.010564084894626225,   0.0041564229443129437,   -0.0015135724506314399,  0.00051228595616854714,  -0.0001617608158260176,
    4.7815651075586181e-05,  -1.3273163656159913e-05, 3.470251308224094e-06,   -8.5687202659445785e-07, 2.0032947542492082e-07,
    -4.4450591371592035e-08, 9.3815375357131398e-09,  -1.8872498147581859e-09, 3.6255897728487708e-10,  -6.6634958661993031e-11,
    1.173618771610486e-11,   -1.9839907494656489e-12, 3.2239211300577643e-13,  -5.0555393205087317e-14, 7.7854389601839166e-15,
    -1.3156142841808112e-15, 4.2812975387107636e-16,  -8.3266726846886827e-17, 1.6098233857064787e-16,  -3.1641356201816992e-16};
constexpr double kI1Large[] = {
    0.38928811750914005,     -0.0097610974913614566,  -0.00011058893876266388, -3.8825648089057392e-06, -2.512236238158029e-07,
    -2.6314688483450309e-08, -3.8353804068455571e-09, -5.589743501399625e-10,  -1.8974970379670447e-11, 3.2526042254531216e-11,
    1.4125797450151306e-11,  2.0356227120599263e-12,  -7.1987832361841723e-13, -4.0838287612698942e-13, -2.1012185047464279e-14,
    4.2722422821661627e-14,  1.0435714250210674e-14,  -3.8327847839969577e-15, -1.8652614175440626e-15, 2.9715813143482727e-16,
    3.0006379325708844e-16,  -2.818925648462314e-17,  -1.3704315460216791e-17, 7.8929918156944781e-18,  -1.9537323148188804e-17};

// Clenshaw's recurrence; as many terms as the dtype can tell.
Term series(const Term& t, std::span<const double> coefficients) {
  double least = t.dtype() == DType::kFloat64 ? 1e-17 : 1e-9;
  std::size_t n = coefficients.size();
  while (n > 2 && std::abs(coefficients[n - 1]) < least) --n;
  const Term twice = 2.0 * t;
  Term next = filled_like(t, 0), now = filled_like(t, coefficients[n - 1]);
  for (std::size_t i = n - 1; i-- > 1;) {
    Term before = twice * now - next + coefficients[i];
    next = now;
    now = before;
  }
  return t * now - next + coefficients[0];
}

// exp(-|x|) I0(x), or I1 with x's sign.
template <int kOrder>
Term bessel_value(const Terms& at) {
  const Term &x = at[0], size = call("abs", x), safe = where(size > 8.0, size, 8.0);
  Term small = series(size / 4.0 - 1.0, kOrder == 0 ? std::span<const double>(kI0Small) : std::span<const double>(kI1Small));
  Term large =
      series(16.0 * call("reciprocal", safe) - 1.0, kOrder == 0 ? std::span<const double>(kI0Large) : std::span<const double>(kI1Large));
  large = large / call("sqrt", safe);
  if (kOrder == 0) return where(size <= 8.0, small, large);
  return where(size <= 8.0, small * x, where(x < 0.0, -large, large));
}
template <int kOrder>
Term scaled_bessel(const Term& x);
Term scaled_i0_tangent(const Terms& at, const Term& y, const Terms& tangents) {
  return tangents[0] * (scaled_bessel<1>(at[0]) - call("sign", at[0]) * y);
}
Term scaled_i1_tangent(const Terms& at, const Term& y, const Terms& tangents) {
  const Term& x = at[0];
  const double least =
      x.dtype() == DType::kFloat64 ? std::numeric_limits<double>::epsilon() : double(std::numeric_limits<float>::epsilon());
  const Term is_tiny = call("abs", x) <= least, safe = where(is_tiny, least, x);
  const Term slope = scaled_bessel<0>(safe) - y * (call("sign", safe) + call("reciprocal", safe));
  return tangents[0] * where(is_tiny, 0.5, slope);
}
template <int kOrder>
Term scaled_bessel(const Term& x) {
  return with_derivative({x}, {bessel_value<kOrder>, kOrder == 0 ? scaled_i0_tangent : scaled_i1_tangent});
}
// Without the scale I0's derivative is I1.
template <int kOrder>
Term bessel(const Terms& at) {
  return call("exp", call("abs", at[0])) * scaled_bessel<kOrder>(at[0]);
}
Term i0_tangent(const Terms& at, const Term&, const Terms& tangents) { return tangents[0] * bessel<1>(at); }

template <int kOrder, bool kScaled>
Values expand_bessel(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term given = inexact_term(b, op, args);
  if (is_complex(given.dtype())) throw_user_error("{} does not accept dtype {}; it takes real numbers", op.name, name_of(given.dtype()));
  const Term x = is_half(given.dtype()) ? converted(given, DType::kFloat32) : given;
  if (kScaled) return {converted(scaled_bessel<kOrder>(x), given.dtype()).id()};
  return {converted(kOrder == 0 ? with_derivative({x}, {bessel<0>, i0_tangent}) : bessel<1>({x}), given.dtype()).id()};
}

// x log(y), 0 where x is 0; its derivative by x is log(y) there too.
template <bool kPlusOne>
Term logarithm(const Term& y) {
  return call(kPlusOne ? "log1p" : "log", y);
}
template <bool kPlusOne>
Term xlogy_value(const Terms& xy) {
  const Term &x = xy[0], &y = xy[1];
  return where((x != 0.0) | (y != y), x * logarithm<kPlusOne>(y), 0.0);
}
template <bool kPlusOne>
Term xlogy_tangent(const Terms& xy, const Term&, const Terms& tangents) {
  const Term &x = xy[0], &y = xy[1];
  const Term by_x = tangents[0] * logarithm<kPlusOne>(y);
  return by_x + tangents[1] * x / (kPlusOne ? 1.0 + y : y);
}
template <bool kPlusOne>
Term xlogy(const Term& x, const Term& y) {
  return with_derivative({x, y}, {xlogy_value<kPlusOne>, xlogy_tangent<kPlusOne>});
}
Term xlogx(const Term& x) {
  auto value = [](const Terms& at) { return xlogy<false>(at[0], at[0]); };
  auto tangent = [](const Terms& at, const Term&, const Terms& tangents) { return tangents[0] * (call("log", at[0]) + 1.0); };
  return with_derivative({x}, {value, tangent});
}
template <bool kPlusOne>
Values expand_xlogy(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  auto xy = inexact_terms(b, op, args);
  return {xlogy<kPlusOne>(xy[0], xy[1]).id()};
}
Values expand_entr(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term x = inexact_term(b, op, args);
  return {selected(x < 0.0, -kInfinity, -xlogx(x)).id()};
}
Term relative_entropy(const Term& p, const Term& q) {
  const Term both = (p > 0.0) & (q > 0.0), none = (p == 0.0) & (q >= 0.0);
  const Term safe_p = where(both, p, 1.0), safe_q = where(both, q, 1.0);
  const Term entropy = xlogx(safe_p), relative = entropy - xlogy<false>(safe_p, safe_q);  // in JAX's order: gradients are summed up in it
  return where(both, relative, where(none, filled_like(p, 0), filled_like(p, kInfinity)));
}
Values expand_rel_entr(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  auto pq = inexact_terms(b, op, args);
  return {relative_entropy(pq[0], pq[1]).id()};
}
Values expand_kl_div(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  auto pq = inexact_terms(b, op, args);
  return {(relative_entropy(pq[0], pq[1]) - pq[0] + pq[1]).id()};
}
Values expand_logit(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term x = inexact_term(b, op, args);
  auto value = [](const Terms& at) { return call("log", at[0] / (1.0 - at[0])); };
  auto tangent = [](const Terms& at, const Term&, const Terms& tangents) { return tangents[0] / (at[0] * (1.0 - at[0])); };
  return {with_derivative({x}, {value, tangent}).id()};
}

// The share of a normal distribution below x.
Term normal_below(const Term& x) {
  constexpr double kRoot = 0.70710678118654752;
  Term w = x * kRoot, size = call("abs", w), tail = call("erfc", size);
  return 0.5 * selected(size < kRoot, 1.0 + call("erf", w), selected(w > 0.0, 2.0 - tail, tail));
}
Values expand_ndtr(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) { return {normal_below(inexact_term(b, op, args)).id()}; }

// Far above 0 -ndtr(-x), far below it an asymptotic series of three terms; in JAX's order.
Term log_normal_below(const Terms& at) {
  const Term& x = at[0];
  GraphBuilder& b = x.builder();
  const double low = x.dtype() == DType::kFloat64 ? -20 : -10, high = x.dtype() == DType::kFloat64 ? 8 : 5;
  const Term is_high = x > high, turned = -x, share = normal_below(where(is_high, turned, call(b, "maximum", {x, low})));
  const Term far_above = -share, is_near = x > low, near = call("log", share);
  const Term far = call(b, "minimum", {x, low}), half = -0.5 * call("square", far);
  const Term logarithm = half - call("log", -far) - 0.5 * std::log(2 * M_PI);
  const Term square = call("square", far), first = 1.0 / square, fourth = square * square, second = 3.0 / fourth;
  const Term third = 15.0 / (fourth * square), sum = 1.0 + second, series = sum - (first + third);
  const Term far_below = logarithm + call("log", series);
  return where(is_high, far_above, where(is_near, near, far_below));
}
// The density over the share below.
Term log_normal_tangent(const Terms& at, const Term& y, const Terms& tangents) {
  const Term log_density = -0.5 * call("square", at[0]) - 0.5 * std::log(2 * M_PI);
  return tangents[0] * call("exp", log_density - y);
}
Values expand_log_ndtr(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  return {with_derivative({inexact_term(b, op, args)}, {log_normal_below, log_normal_tangent}).id()};
}

// log(gamma(b) / gamma(a + b)) where b is at least 8: algdiv of SciPy's cdflib.
Term log_gamma_ratio(const Term& a, const Term& b) {
  constexpr double kCorrection[] = {0.833333333333333e-01,  -0.277777777760991e-02, 0.793650666825390e-03,
                                    -0.595202931351870e-03, 0.837308034031215e-03,  -0.165322962780713e-02};
  const Term h = a / b, c = h / (1.0 + h), x = h / (1.0 + h), d = b + (a - 0.5), square = x * x, inverse = 1.0 / b, t = inverse * inverse;
  std::vector<Term> powers{1.0 + (x + square)};  // sums of powers of x
  while (powers.size() < 5) powers.push_back(1.0 + (x + square * powers.back()));
  Term w = kCorrection[5] * powers[4] * t;
  for (int i = 4; i >= 1; --i) w = (w + kCorrection[i] * powers[std::size_t(i) - 1]) * t;
  w = (w + kCorrection[0]) * (c / b);
  const Term u = d * call("log1p", a / b), v = a * (call("log", b) - 1.0);
  return where(u <= v, (w - v) - u, (w - u) - v);
}

Values expand_betaln(GraphBuilder& builder, const OpDef& op, Args args, const Attrs&) {
  const auto xy = inexact_terms(builder, op, args);
  const Term a = call(builder, "minimum", {xy[0], xy[1]}), b = call(builder, "maximum", {xy[0], xy[1]});
  const Term near = call("lgamma", a) + (call("lgamma", b) - call("lgamma", a + b));
  return {where(b < 8.0, near, call("lgamma", a) + log_gamma_ratio(a, b)).id()};
}

// gamma(x) has the sign of (-1)^floor(x) below 0, none at whole numbers there; at 0 it has that of 0.
Term gamma_sign(const Term& x) {
  const Term below = call("floor", x), is_negative = x < 0.0, is_odd = call(x.builder(), "fmod", {below, 2.0}) != 0.0;
  const Term has_none = (is_negative & (x == below)) | (x != x), turns = (is_negative & is_odd) | ((x == 0.0) & call("signbit", x));
  return where(has_none, std::numeric_limits<double>::quiet_NaN(), where(turns, filled_like(x, -1), filled_like(x, 1)));
}
Values expand_beta(GraphBuilder& builder, const OpDef& op, Args args, const Attrs& attrs) {
  const auto xy = inexact_terms(builder, op, args);
  const Term &a = xy[0], &b = xy[1], size = call("exp", Term(builder, expand_betaln(builder, op, args, attrs)[0]));
  return {(gamma_sign(a) * gamma_sign(b) * gamma_sign(a + b) * size).id()};
}
Values expand_gammasgn(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) { return {gamma_sign(inexact_term(b, op, args)).id()}; }
Values expand_gamma(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term x = inexact_term(b, op, args);
  return {(gamma_sign(x) * call("exp", call("lgamma", x))).id()};
}
Values expand_factorial(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term n = inexact_term(b, op, args);
  return {where(n < 0.0, 0.0, call("exp", call("lgamma", n + 1.0))).id()};
}
Values expand_multigammaln(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t d = static_integer(op, args, 1, attrs, "d");
  Term x = inexact_term(b, op, args.first(1));
  constexpr std::int64_t kOrderMax = 4096;
  if (d < 1 || d > kOrderMax) throw_user_error("{}: d is {}, wanted 1 to {}", op.name, d, kOrderMax);
  Shape along(std::size_t(x.rank()), 1);
  along.push_back(d);
  Term halves = reshaped(numbers(b, x.dtype(), d) / 2.0, along);
  double constant = 0.25 * double(d) * double(d - 1) * std::log(M_PI);
  return {(summed(call("lgamma", expanded(x, x.rank()) - halves), {x.rank()}) + constant).id()};
}

constexpr AttrDef kOrderAttrs[] = {{"d", AttrDef::Kind::kInteger, false, "the dimension, where it is no operand"}};

}  // namespace

extern const OpDef kI0, kI0e, kI1, kI1e, kXlogy, kXlog1py, kEntr, kRelEntr, kKlDiv, kLogit, kNdtr, kLogNdtr, kBetaln, kBeta, kGammasgn,
    kGammaFunction, kFactorial, kMultigammaln;

constexpr std::string_view kI0eAliases[] = {"bessel_i0e"}, kI1eAliases[] = {"bessel_i1e"};
const OpDef kI0 = compiled_alone(weak_composite_of({"i0", "The modified Bessel function of order 0.", expand_bessel<0, false>}));
const OpDef kI0e = weak_composite_of({"i0e", "i0 times exp(-|x|).", expand_bessel<0, true>, 1, 1, {}, kI0eAliases});
const OpDef kI1 = weak_composite_of({"i1", "The modified Bessel function of order 1.", expand_bessel<1, false>});
const OpDef kI1e = weak_composite_of({"i1e", "i1 times exp(-|x|).", expand_bessel<1, true>, 1, 1, {}, kI1eAliases});
const OpDef kXlogy = weak_composite_of({"xlogy", "x log(y), 0 where x is 0.", expand_xlogy<false>, 2, 2});
const OpDef kXlog1py = weak_composite_of({"xlog1py", "x log(1 + y), 0 where x is 0.", expand_xlogy<true>, 2, 2});
const OpDef kEntr = weak_composite_of({"entr", "-x log(x), 0 at 0, -infinity below it.", expand_entr});
const OpDef kRelEntr = composite_of({"rel_entr", "x log(x / y), 0 where x is 0, infinite where it has no value.", expand_rel_entr, 2, 2});
const OpDef kKlDiv = composite_of({"kl_div", "rel_entr(x, y) - x + y.", expand_kl_div, 2, 2});
const OpDef kLogit = composite_of({"logit", "log(x / (1 - x)).", expand_logit});
const OpDef kNdtr = composite_of({"ndtr", "The share of the normal distribution below x.", expand_ndtr});
const OpDef kLogNdtr = composite_of({"log_ndtr", "log(ndtr(x)), accurate far below 0.", expand_log_ndtr});
const OpDef kBetaln = weak_composite_of({"betaln", "The logarithm of beta's size.", expand_betaln, 2, 2});
const OpDef kBeta = composite_of({"beta", "gamma(x) gamma(y) / gamma(x + y).", expand_beta, 2, 2});
const OpDef kGammasgn = compiled_alone(composite_of({"gammasgn", "The sign of gamma(x).", expand_gammasgn}));
const OpDef kGammaFunction = composite_of({"gamma", "The gamma function.", expand_gamma});
const OpDef kFactorial = weak_composite_of({"factorial", "gamma(x + 1), 0 below 0.", expand_factorial});
const OpDef kMultigammaln = composite_of(
    {"multigammaln", "The logarithm of the gamma function of d dimensions: args [x] or [x, d].", expand_multigammaln, 1, 2, kOrderAttrs});

}  // namespace shardlab::ops
