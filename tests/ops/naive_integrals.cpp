// References of functions that are integrals: by the tanh-sinh rule.
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/ops/naive_index.h"

namespace shardlab::testing_ops {
namespace {

// From 0 to `end`; singular at the ends perhaps. Source: Takahasi and Mori, "Double exponential formulas for numerical integration".
template <typename F>
double integral(double end, F f) {
  constexpr double kStep = 1.0 / 64;
  double sum = 0;
  for (int i = -400; i <= 400; ++i) {
    const double t = i * kStep, s = M_PI / 2 * std::sinh(t), share = 1 / (1 + std::exp(-2 * s));
    const double weight = M_PI / 4 * std::cosh(t) / (std::cosh(s) * std::cosh(s));
    if (share > 0 && weight > 0 && share < 1) sum += f(end * share) * weight;
  }
  return sum * kStep * end;
}
// Central differences of fourth order.
template <typename F>
double slope(double x, F f) {
  const double h = 1e-3 * std::min(1.0, std::fabs(x));
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}

double digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return NAN;
  auto difference = [&](double h) { return (std::lgamma(x + h) - std::lgamma(x - h)) / (2 * h); };
  return (4 * difference(5e-5) - difference(1e-4)) / 3;
}
// In t = u^(1/a), the integrand is smooth at 0.
double igamma(double a, double x) {
  if (x < 0 || a < 0) return NAN;
  if (a == 0) return x < 1 ? NAN : 1;
  return integral(std::pow(x, a), [a](double u) { return std::exp(-std::pow(u, 1 / a)); }) / std::tgamma(a + 1);
}
double igammac(double a, double x) {
  if (x < 0 || a < 0 || (a == 0 && x == 0)) return NAN;
  return a == 0 ? 0 : 1 - igamma(a, x);
}
double igamma_by_a(double a, double x) {
  if (x < 0 || a <= 0) return NAN;
  return x == 0 ? 0 : slope(a, [x](double at) { return igamma(at, x); });
}
double random_gamma_by_a(double a, double x) {
  return x == 0 && a > 0 ? 0 : -igamma_by_a(a, x) * std::exp(x - (a - 1) * std::log(x) + std::lgamma(a));
}
double incomplete_beta(double a, double b, double x) {
  if (a < 0 || b < 0 || x < 0 || x > 1 || (a == 0 && b == 0)) return NAN;
  if (a == 0) return x > 0 ? 1 : 0;
  if (b == 0 || x == 1) return x == 1 ? 1 : 0;
  const double beta = std::exp(std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b));
  return integral(std::pow(x, a), [=](double u) { return std::pow(-std::expm1(std::log(u) / a), b - 1); }) / a / beta;
}
double expn(double n, double x) {
  if (n < 0 || x < 0) return NAN;
  if (x == 0) return n > 1 ? 1 / (n - 1) : INFINITY;
  return integral(1, [=](double s) { return std::exp((n - 2) * std::log(s) - x / s); });
}
double expi(double x) {
  if (x == 0 || x == INFINITY) return NAN;  // as in JAX
  const double euler = 0.57721566490153286061;
  return euler + std::log(std::fabs(x)) + integral(x, [](double t) { return std::expm1(t) / t; });
}

// To a whole multiple of the last bit that is kept.
double rounded(double x, double exponent_bits, double mantissa_bits) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::exp2(std::floor(std::log2(std::fabs(x))) - std::floor(std::clamp(mantissa_bits, 0.0, 52.0)));
  const double bias = std::exp2(std::clamp(exponent_bits, 1.0, 11.0) - 1) - 1, result = std::nearbyint(x / unit) * unit;
  if (std::fabs(result) >= 2 * std::exp2(bias)) return std::copysign(INFINITY, x);
  return std::fabs(result) < std::exp2(1 - bias) ? 0 : result;
}

// Term by term in long double.
double hypergeometric(const std::vector<long double>& above, const std::vector<long double>& below, long double x) {
  long double sum = 1, term = 1;
  for (long double k = 0; k < 1000000 && term != 0; ++k) {
    for (long double a : above) term *= a + k;
    for (long double b : below) term /= b + k;
    term *= x / (k + 1);
    sum += term;
    if (std::fabs(term) < 1e-22L * std::fabs(sum)) break;
  }
  return double(sum);
}
// Its derivative by the parameter `which`, of those above and then those below: every term's is the term by the sum of what 1 / (a + j)
// come to.
double hypergeometric_by(std::size_t which, const std::vector<long double>& above, const std::vector<long double>& below, long double x) {
  const bool is_above = which < above.size();
  const long double parameter = is_above ? above[which] : below[which - above.size()];
  long double sum = 0, term = 1, of_logarithm = 0;
  for (long double k = 0; k < 1000000; ++k) {
    for (long double a : above) term *= a + k;
    for (long double b : below) term /= b + k;
    term *= x / (k + 1);
    of_logarithm += (is_above ? 1 : -1) / (parameter + k);
    sum += term * of_logarithm;
    if (std::fabs(term) * (1 + std::fabs(of_logarithm)) <= 1e-22L * std::fabs(sum)) break;
  }
  return double(sum);
}
bool is_down_count(double x) { return x <= 0 && x == std::floor(x); }
double hyp1f1(double a, double b, double x) {
  if (a == 0) return 1;
  if (a != b && is_down_count(b) && !(is_down_count(a) && a > b)) return INFINITY;
  return a == b ? std::exp(x) : hypergeometric({a}, {b}, x);
}
double hyp2f1(double a, double b, double c, double x) {
  if (x == 0 || ((a == 0 || b == 0) && c != 0)) return 1;
  if (is_down_count(c)) return INFINITY;
  const bool ends = is_down_count(a) || is_down_count(b);
  if (!ends && (x > 1 || (x == 1 && c <= a + b))) return INFINITY;
  if (!ends && x < 0) return std::pow(1 - x, -b) * hypergeometric({c - a, b}, {c}, x / (x - 1));
  return hypergeometric({a, b}, {c}, x);
}
// A difference of values, and one of half the step.
double slope(const std::vector<Number>& x, std::size_t which, double (*f)(const std::vector<double>&)) {
  auto slope = [&](double step) {
    auto value = [&](double offset) {
      std::vector<double> at;
      for (Number each : x) at.push_back(each.real());
      at[which] += offset;
      return f(at);
    };
    return (value(step) - value(-step)) / (2 * step);
  };
  return (4 * slope(1e-4) - slope(2e-4)) / 3;
}
double random_gamma_by_a_again(const std::vector<Number>& x) {
  const double n = x[0].real(), a = x[1].real();
  if (!(n >= 0 && n < 16) || n != std::floor(n) || !(a > 0)) return NAN;
  if (n == 0) return random_gamma_by_a(a, x[2].real());
  return slope(x, 1, [](const std::vector<double>& of) { return random_gamma_by_a_again({of[0] - 1, of[1], of[2]}); });
}
// Where the series ends it has no logarithms.
double hyp1f1_by(std::size_t which, const std::vector<Number>& x) {
  if (is_down_count(x[1].real())) return NAN;
  if (is_down_count(x[0].real()) || x[0] == x[1])
    return slope(x, which, [](const std::vector<double>& p) { return hypergeometric({p[0]}, {p[1]}, p[2]); });
  return hypergeometric_by(which, {x[0].real()}, {x[1].real()}, x[2].real());
}
double hyp2f1_by(std::size_t which, const std::vector<Number>& x) {
  const bool others_end = (which != 0 && is_down_count(x[0].real())) || (which != 1 && is_down_count(x[1].real()));
  const bool diverges = x[3].real() > 1 || (x[3].real() == 1 && x[2].real() <= x[0].real() + x[1].real());
  if (is_down_count(x[2].real()) || (diverges && !others_end)) return NAN;
  const bool ends = is_down_count(x[0].real()) || is_down_count(x[1].real());
  if (std::fabs(x[3].real()) < 1 && !ends) return hypergeometric_by(which, {x[0].real(), x[1].real()}, {x[2].real()}, x[3].real());
  return slope(x, which, [](const std::vector<double>& p) { return hyp2f1(p[0], p[1], p[2], p[3]); });
}
double erfcx(double x) {
  return x < 5 ? std::exp(x * x) * std::erfc(x) : M_2_SQRTPI * integral(20, [x](double t) { return std::exp(-t * t - 2 * x * t); });
}
double dawsn(double x) {
  return integral(x, [x](double t) { return std::exp(t * t - x * x); });
}
double sine_integral(double x) {
  return x == 0 ? 0 : integral(x, [](double t) { return std::sin(t) / t; });
}
double cosine_integral(double x) {
  if (x == 0) return -INFINITY;
  return 0.57721566490153286061 + std::log(std::fabs(x)) + integral(x, [](double t) { return (std::cos(t) - 1) / t; });
}
double fresnel_sine(double x) {
  return integral(x, [](double t) { return std::sin(M_PI / 2 * t * t); });
}
double fresnel_cosine(double x) {
  return integral(x, [](double t) { return std::cos(M_PI / 2 * t * t); });
}
double owens_t(double h, double a) {
  return integral(a, [h](double u) { return std::exp(-h * h * (1 + u * u) / 2) / (1 + u * u); }) / (2 * M_PI);
}

}  // namespace

std::optional<ScalarFunction> naive_integral(std::string_view op) {
  auto of = [](auto function) { return [function](const std::vector<Number>& x, DType) -> Number { return function(x); }; };
  auto one = [&](double (*f)(double)) { return of([f](const std::vector<Number>& x) { return f(x[0].real()); }); };
  auto two = [&](double (*f)(double, double)) { return of([f](const std::vector<Number>& x) { return f(x[0].real(), x[1].real()); }); };
  static const std::map<std::string_view, ScalarFunction> table = {
      {"digamma", one(digamma)},
      {"igamma", two(igamma)},
      {"igammac", two(igammac)},
      {"igamma_grad_a", two(igamma_by_a)},
      {"random_gamma_grad", two(random_gamma_by_a)},
      {"random_gamma_grad_by_a", of(random_gamma_by_a_again)},
      {"regularized_incomplete_beta",
       of([](const std::vector<Number>& x) { return incomplete_beta(x[0].real(), x[1].real(), x[2].real()); })},
      {"expn", two(expn)},
      {"round_to_precision", of([](const std::vector<Number>& x) { return rounded(x[0].real(), x[1].real(), x[2].real()); })},
      {"expi", one(expi)},
      {"erfcx", one(erfcx)},
      {"dawsn", one(dawsn)},
      {"sine_integral", one(sine_integral)},
      {"cosine_integral", one(cosine_integral)},
      {"fresnel_sine", one(fresnel_sine)},
      {"fresnel_cosine", one(fresnel_cosine)},
      {"owens_t", two(owens_t)},
      {"hyp1f1", of([](const std::vector<Number>& x) { return hyp1f1(x[0].real(), x[1].real(), x[2].real()); })},
      {"hyp1f1_grad_a", of([](const std::vector<Number>& x) { return hyp1f1_by(0, x); })},
      {"hyp1f1_grad_b", of([](const std::vector<Number>& x) { return hyp1f1_by(1, x); })},
      {"hyp2f1_grad_a", of([](const std::vector<Number>& x) { return hyp2f1_by(0, x); })},
      {"hyp2f1_grad_b", of([](const std::vector<Number>& x) { return hyp2f1_by(1, x); })},
      {"hyp2f1_grad_c", of([](const std::vector<Number>& x) { return hyp2f1_by(2, x); })},
      {"hyp2f1", of([](const std::vector<Number>& x) { return hyp2f1(x[0].real(), x[1].real(), x[2].real(), x[3].real()); })}};
  auto found = table.find(op);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace shardlab::testing_ops
