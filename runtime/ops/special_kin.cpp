// ndtri, spence, zeta, polygamma, comb, poch, boxcox: functions of jax.scipy.special that are made of powers, logarithms and polynomials.
#include <cmath>
#include <limits>

#include "runtime/ops/largest.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// The operands as real numbers of one dtype and shape.
std::vector<Term> reals(GraphBuilder& b, const OpDef& op, Args args) {
  std::vector<Term> terms;
  const DType dtype = inexact(promoted_dtype(b, args));
  if (is_complex(dtype)) throw_user_error("{} does not support complex-valued inputs.", op.name);
  for (ValueId id : ranked_together(b, op.name, args, dtype)) terms.emplace_back(b, id);
  return terms;
}

// By Horner, the highest power first.
Term polynomial(const Term& x, std::span<const double> coefficients) {
  Term sum = filled_like(x, coefficients[0]);
  for (double each : coefficients.subspan(1)) sum = sum * x + each;
  return sum;
}

// Source: Cephes, ndtri.
constexpr double kMiddleP[] = {-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1, 1.39312609387279679503e1,
                               -1.23916583867381258016e0};
constexpr double kMiddleQ[] = {1.0,
                               1.95448858338141759834e0,
                               4.67627912898881538453e0,
                               8.63602421390890590575e1,
                               -2.25462687854119370527e2,
                               2.00260212380060660359e2,
                               -8.20372256168333339912e1,
                               1.59056225126211695515e1,
                               -1.18331621121330003142e0};
constexpr double kNearP[] = {4.05544892305962419923e0,   3.15251094599893866154e1,   5.71628192246421288162e1,
                             4.40805073893200834700e1,   1.46849561928858024014e1,   2.18663306850790267539e0,
                             -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4};
constexpr double kNearQ[] = {1.0,
                             1.57799883256466749731e1,
                             4.53907635128879210584e1,
                             4.13172038254672030440e1,
                             1.50425385692907503408e1,
                             2.50464946208309415979e0,
                             -1.42182922854787788574e-1,
                             -3.80806407691578277194e-2,
                             -9.33259480895457427372e-4};
constexpr double kFarP[] = {3.23774891776946035970e0,  6.91522889068984211695e0,  3.93881025292474443415e0,
                            1.33303460815807542389e0,  2.01485389549179081538e-1, 1.23716634817820021358e-2,
                            3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9};
constexpr double kFarQ[] = {1.0,
                            6.02427039364742014255e0,
                            3.67983563856160859403e0,
                            1.37702099489081330271e0,
                            2.16236993594496635890e-1,
                            1.34204006088543189037e-2,
                            3.28014464682127739104e-4,
                            2.89247864745380683936e-6,
                            6.79019408009981274425e-9};

// The inverse of ndtr, by rational functions around a half, in the tails, and far in them.
Values expand_ndtri(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term p = reals(b, op, args)[0];
  const double tail = std::exp(-2.0);
  const Term folded = where(p > -std::expm1(-2.0), 1.0 - p, p), safe = where(folded == 0.0, 0.5, folded);
  const Term w = safe - 0.5, square = w * w;
  const Term middle = (w + w * square * (polynomial(square, kMiddleP) / polynomial(square, kMiddleQ))) * -std::sqrt(2 * M_PI);
  const Term z = call("sqrt", -2.0 * call("log", safe)), inverse = 1.0 / z, first = z - call("log", z) / z;
  const Term far = first - polynomial(inverse, kFarP) / polynomial(inverse, kFarQ) / z;
  const Term near = first - polynomial(inverse, kNearP) / polynomial(inverse, kNearQ) / z;
  Term x = where(safe > tail, middle, where(z >= 8.0, far, near));
  x = where(p > 1 - tail, x, -x);
  return {where(p == 0.0, -kInfinity, where(p == 1.0, kInfinity, x)).id()};
}

// Source: Cephes, spence.
constexpr double kSpenceP[] = {4.65128586073990045278e-5, 7.31589045238094711071e-3, 1.33847639578309018650e-1, 8.79691311754530315341e-1,
                               2.71149851196553469920e0,  4.25697156008121755724e0,  3.29771340985225106936e0,  1.00000000000000000126e0};
constexpr double kSpenceQ[] = {6.90990488912553276999e-4, 2.54043763932544379113e-2, 2.82974860602568089943e-1, 1.41172597751831069617e0,
                               3.63800533345137075418e0,  5.03278880143316990390e0,  3.54771340985225096217e0,  9.99999999999999998740e-1};

Values expand_spence(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term given = reals(b, op, args)[0];
  const Term is_known = (given == 0.0) | (given == 1.0), is_inverted = given > 2.0;
  const Term inside = where(is_known | (given < 0.0), 1.25, given), x = where(is_inverted, 1.0 / inside, inside);
  const Term above = x > 1.5, below = x < 0.5;
  const Term w = where(above, 1.0 / x - 1.0, where(below, -x, x - 1.0));
  Term y = -w * polynomial(w, kSpenceP) / polynomial(w, kSpenceQ);
  const Term logarithm = call("log", x), safe = where(below, x, 0.25);
  y = where(below, M_PI * M_PI / 6 - call("log", safe) * call("log", 1.0 - safe) - y, y);
  y = where(is_inverted | above, -0.5 * (logarithm * logarithm) - y, y);
  y = where(given == 0.0, M_PI * M_PI / 6, where(given == 1.0, 0.0, y));
  return {where(given < 0.0, kNan, y).id()};
}

// Bernoulli's numbers of even order over the factorials of it.
constexpr double kBernoulli[] = {1.0 / 12,
                                 -1.0 / 720,
                                 1.0 / 30240,
                                 -1.0 / 1209600,
                                 1.0 / 47900160,
                                 -691.0 / 1307674368000,
                                 1.0 / 74724249600,
                                 -3617.0 / 10670622842880000,
                                 43867.0 / 5109094217170944000,
                                 -174611.0 / 802857662698291200000.0,
                                 77683.0 / 14101100039391805440000.0,
                                 -236364091.0 / 1693824136731743669452800000.0,
                                 657931.0 / 186134520519971831808000000.0,
                                 -3392780147.0 / 37893265687455865519472640000000.0,
                                 1723168255201.0 / 759790291646040068357842010112000000.0,
                                 -7709321041217.0 / 134196726836183700385281186201600000000.0};

// Hurwitz's zeta function, step by step in XLA's order. Source: Cephes, zeta, with nine terms and twelve of Euler and Maclaurin's sum.
constexpr int kZetaTerms = 9, kZetaCorrections = 12;
Term zeta(const Terms& operands) {
  const Term &s = operands[0], &a = operands[1];
  GraphBuilder& b = s.builder();
  auto power = [&](const Term& base, const Term& exponent) { return call(b, "power", {base, exponent}); };
  const Term is_one = s == 1.0, is_negative = a <= 0.0;
  const Term is_pole = is_negative & (a == call("floor", a)), is_whole = s == call("floor", s);
  const Term at_pole = selected(is_whole & (call(b, "rem", {s, 2.0}) == 0.0), filled_like(s, kInfinity), filled_like(s, kNan));
  const Term is_undefined = is_negative & (s != call("floor", s)), is_below = s < 1.0;
  Terms ends{a};
  for (int k = 0; k <= kZetaTerms; ++k) ends.push_back(ends.back() + 1.0);
  const Term &end = ends.back(), falls = -s, last = power(end, falls), last_size = call("abs", last);
  Term sum = power(a, falls);
  for (int k = 1; k <= kZetaTerms; ++k) sum = sum + power(ends[std::size_t(k)], falls);
  const Term is_exact = last_size < call("abs", sum) * double(std::numeric_limits<float>::denorm_min());
  const Term head = sum + last * end / (s - 1.0), ratio = s / end;
  auto factor = [&](int k) {
    const Term upper = s + double(2 * k);
    return upper * (s + double(2 * k - 1));
  };
  Terms factors{factor(1)};
  const Term square = end * end, inverse = 1.0 / square;
  for (int k = 2; k < kZetaCorrections; ++k) factors.push_back(factor(k));
  Term tail = inverse * kBernoulli[kZetaCorrections - 1];
  for (int k = kZetaCorrections - 1; k > 0; --k) {
    tail = factors[std::size_t(k - 1)] * tail + kBernoulli[k - 1];
    if (k > 1) tail = inverse * tail;
  }
  const Term value = selected(is_exact, sum, head + last * (ratio * tail + 0.5));
  const Term defined = selected(is_below, filled_like(s, kNan), value);
  return selected(is_one, filled_like(s, kInfinity), selected(is_pole, at_pole, selected(is_undefined, filled_like(s, kNan), defined)));
}
// What is differentiated, in JAX's order. Source: Johansson, "Rigorous high-precision computation of the Hurwitz zeta function and its
// derivatives", (5).
Term zeta_series(const Terms& operands) {
  const Term &s = operands[0], &a = operands[1];
  GraphBuilder& b = s.builder();
  const int count = a.dtype() == DType::kFloat32 ? 8 : 16;
  auto power = [&](const Term& base, const Term& exponent) { return call(b, "power", {base, exponent}); };
  auto along = [&](const Term& operand, std::span<const double> values) {  // a dimension behind the operand's
    Shape shape(std::size_t(operand.rank()) + 1, 1);
    shape.back() = std::int64_t(values.size());
    return reshaped(constant_vector(b, s.dtype(), values), shape);
  };
  auto summed_up = [](const Term& terms) { return summed(terms, {terms.rank() - 1}); };
  std::vector<double> counted, divisors;
  for (int k = 0; k < 2 * count; ++k) counted.push_back(k);
  for (int k = 0; k < count; ++k) divisors.push_back(1 / kBernoulli[k]);
  const Term each_s = expanded(s, s.rank()), each_a = expanded(a, a.rank());
  const Term terms = each_a + along(a, std::span(counted).first(std::size_t(count)));
  const Term sum = summed_up(power(terms, -each_s));
  const Term powered = power(a + double(count), 1.0 - s), integral = powered / (s - 1.0);
  const Term end = a + double(count), last = power(end, -s);
  const Term rising = each_s + along(s, counted), ratios = rising / (each_a + double(count));
  Term corrections = call("cumprod", ratios, Attrs{{"axis", std::int64_t(ratios.rank()) - 1}});
  corrections = sliced(corrections, corrections.rank() - 1, 0, 2 * count, 2);
  corrections = call(b, "minimum", {corrections, largest(s.dtype())}) / along(a, divisors);
  const Term tail = last * (0.5 + summed_up(corrections));
  return sum + integral + tail;
}
Values expand_zeta(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  auto value = [](const Terms& operands) {
    const DType dtype = operands[0].dtype();
    Terms wide = operands;
    if (is_half(dtype))
      for (Term& each : wide) each = converted(each, DType::kFloat32);
    return converted(zeta(wide), dtype);
  };
  return {with_another_derivative(reals(b, op, args), value, zeta_series).id()};
}

// The n-th derivative of digamma, in the order of JAX's expansion.
Values expand_polygamma(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const std::vector<Term> given = reals(b, op, args);
  const Term &n = given[0], &x = given[1];
  const Term is_outside = (n != call("floor", n)) | (n < 0.0), is_digamma = n == 0.0;
  const Term by_digamma = call("digamma", x), safe = where(is_digamma, 1.0, n);
  const Term sign = call(b, "remainder", {safe, 2.0}) * 2.0 - 1.0, order = safe + 1.0;
  const Term size = sign * call("exp", call("lgamma", order));
  const Term value = size * Term(b, expand_zeta(b, op, std::vector<Arg>{order.id(), x.id()}, {})[0]);
  return {where(is_outside, kNan, where(is_digamma, by_digamma, value)).id()};
}

Values expand_comb(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const std::vector<Term> given = reals(b, op, args);
  const Term &all = given[0], &chosen = given[1];
  const Term is_some = (chosen <= all) & (all >= 0.0) & (chosen >= 0.0), n = where(is_some, all, 0.0), k = where(is_some, chosen, 0.0);
  auto logarithm = [](const Term& x) { return call("lgamma", x + 1.0); };
  return {where(is_some, call("exp", logarithm(n) - logarithm(k) - logarithm(n - k)), 0.0).id()};
}

Values expand_poch(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const std::vector<Term> given = reals(b, op, args);
  auto value = [](const Terms& zm) { return where(zm[1] == 0.0, 1.0, call("gamma", zm[0] + zm[1]) / call("gamma", zm[0])); };
  auto tangent = [](const Terms& zm, const Term& y, const Terms& tangents) {
    const Term by_m = call("digamma", zm[0] + zm[1]);
    const Term by_z = tangents[0] * ((by_m - call("digamma", zm[0])) * y);
    return by_z + tangents[1] * (by_m * y);
  };
  return {with_derivative(given, {value, tangent}).id()};
}

template <bool kUpper>
Values expand_gammainc(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const std::vector<Term> ax = reals(b, op, args);
  return {call(b, kUpper ? "igammac" : "igamma", {ax[0], ax[1]}).id()};
}

Values expand_exp1(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  return {call(b, "expn", {1, as_inexact(term(b, args[0]))}).id()};
}

// From high orders down, then by the sum of the even ones. Source: Zhang, Jin, Computation of Special Functions (1996), as JAX.
Values expand_bessel_jn(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term z = reals(b, op, args)[0];
  const std::int64_t orders = attrs.integer("v"), steps = attrs.integer("n_iter", 50);
  constexpr std::int64_t kStepsMax = 100000;
  if (orders < 0 || steps < orders || steps > kStepsMax)
    throw_user_error("{}: wanted 0 <= v <= n_iter <= {}, got v={} and n_iter={}", op.name, kStepsMax, orders, steps);
  const Term zero = z * 0.0;
  const DType dtype = z.dtype();
  const Term ks = call(b, "arange", {steps, -1, -1}, Attrs{{"dtype", DType::kInt32}});
  const Terms found = repeated_over({zero, zero + 1e-16, zero, z}, {ks}, [&](const Terms& carry, const Terms& slice) {
    const Term k = converted(slice[0], dtype);
    const Term f = (k + 1.0) * 2.0 * carry[1] / carry[3] - carry[0];
    GraphBuilder& body = slice[0].builder();
    const Term is_even = converted(call(body, "equal", {call(body, "remainder", {slice[0], 2}), 0}), dtype);
    return Terms{carry[1], f, carry[2] + f * is_even * 2.0, carry[3], f};
  });
  const Term values = call("flip", found[4], Attrs{{"axis", std::int64_t(0)}});
  const Term scale = expanded(found[2] - part(values, 0, 0), 0);
  return {(sliced(values, 0, 0, orders + 1) / scale).id()};
}

constexpr AttrDef kBesselAttrs[] = {{"v", AttrDef::Kind::kInteger, true, "the highest order"},
                                    {"n_iter", AttrDef::Kind::kInteger, false, "from which order the recurrence goes down; 50 by default"}};

template <bool kPlusOne>
Values expand_boxcox(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const std::vector<Term> given = reals(b, op, args);
  const Term logarithm = call(kPlusOne ? "log1p" : "log", given[0]), is_zero = given[1] == 0.0, power = where(is_zero, 1.0, given[1]);
  return {where(is_zero, logarithm, call("expm1", power * logarithm) / power).id()};
}

}  // namespace

extern const OpDef kNdtri, kSpence, kZeta, kPolygamma, kComb, kPoch, kBoxcox, kBoxcox1p, kExp1, kBesselJn, kGammainc, kGammaincc;

const OpDef kNdtri = composite_of({"ndtri", "The x below which the share p of the normal distribution lies.", expand_ndtri});
const OpDef kSpence = composite_of({"spence", "The integral of log(t) / (1 - t) from 1 to x.", expand_spence});
const OpDef kZeta = weak_composite_of({"zeta", "Hurwitz's zeta function: args [x, q].", expand_zeta, 2, 2});
const OpDef kPolygamma = composite_of({"polygamma", "The n-th derivative of digamma: args [n, x].", expand_polygamma, 2, 2});
const OpDef kComb = weak_composite_of({"comb", "In how many ways k of N can be chosen.", expand_comb, 2, 2});
const OpDef kBesselJn = composite_of(
    {"bessel_jn", "Bessel functions of the first kind of the orders 0 to v, [v + 1, ...].", expand_bessel_jn, 1, 1, kBesselAttrs});
const OpDef kExp1 = composite_of({"exp1", "expn(1, x).", expand_exp1});
const OpDef kGammainc = weak_composite_of({"gammainc", "igamma of real numbers: args [a, x].", expand_gammainc<false>, 2, 2});
const OpDef kGammaincc = weak_composite_of({"gammaincc", "igammac of real numbers: args [a, x].", expand_gammainc<true>, 2, 2});
const OpDef kPoch = composite_of({"poch", "gamma(z + m) / gamma(z).", expand_poch, 2, 2});
const OpDef kBoxcox = weak_composite_of({"boxcox", "(x^l - 1) / l; the logarithm where l is 0.", expand_boxcox<false>, 2, 2});
const OpDef kBoxcox1p = weak_composite_of({"boxcox1p", "boxcox of 1 + x, accurate near 0.", expand_boxcox<true>, 2, 2});

}  // namespace shardlab::ops
