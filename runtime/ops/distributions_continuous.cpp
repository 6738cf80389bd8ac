// Distributions of real numbers.
#include <cmath>
#include <limits>

#include "runtime/ops/distributions.h"

namespace shardlab::ops {
namespace {

using Given = DistributionTerms;

Term log(const Term& x) { return call("log", x); }
Term exp(const Term& x) { return call("exp", x); }
Term lgamma(const Term& x) { return call("lgamma", x); }
Term call2(std::string_view op, const Item& x, const Term& y) { return call(y.builder(), op, {x, y}); }
Term held(const Item& low, const Term& x, const Item& high) { return call(x.builder(), "clamp", {low, x, high}); }
// Where p is a share: from 0 to 1.
Term of_share(const Term& p, const Term& value) { return where((p >= 0.0) & (p <= 1.0), value, kNoValue); }

// The value in units of the last two parameters, loc and scale.
Term scaled(Given g) { return (g[0] - g[g.size() - 2]) / g.back(); }
// The same with the other sign, of loc less the value.
Term scaled_down(Given g) { return (g[g.size() - 2] - g[0]) / g.back(); }
Term unscaled(Given g, const Term& z) { return z * g.back() + g[g.size() - 2]; }
// At the value mirrored at loc.
template <DistributionFunction function>
Term mirrored(Given g) {
  const std::vector<Term> other{-g[0], -g[1], g[2]};
  return function(other);
}
// At what lies as far below 1.
template <DistributionFunction function>
Term from_above(Given g) {
  std::vector<Term> other(g.begin(), g.end());
  other[0] = 1.0 - g[0];
  return function(other);
}

Term norm_logpdf(Given g) {
  const Term variance = call("square", g[2]), scale = log(2 * M_PI * variance), distance = call("square", g[0] - g[1]) / variance;
  return (scale + distance) / -2.0;
}
Term norm_cdf(Given g) { return call("ndtr", scaled(g)); }
Term norm_logcdf(Given g) { return call("log_ndtr", scaled(g)); }
Term norm_ppf(Given g) {  // in JAX of the default dtype
  return converted(unscaled(g, call("ndtri", g[0])), default_dtype(WeakKind::kReal, g[0].builder().config().enable_x64));
}
constexpr DistributionMember kNorm[] = {{"logpdf", norm_logpdf, kStrong, kComplexToo},
                                        {"pdf", exp_of<norm_logpdf>, kStrong, kComplexToo},
                                        {"cdf", norm_cdf},
                                        {"logcdf", norm_logcdf},
                                        {"sf", mirrored<norm_cdf>},
                                        {"logsf", mirrored<norm_logcdf>},
                                        {"ppf", norm_ppf},
                                        {"isf", from_above<norm_ppf>}};

Term cauchy_logpdf(Given g) { return -(log(M_PI * g[2]) + call("log1p", call("square", scaled(g)))); }
Term cauchy_cdf(Given g) { return 0.5 + call("arctan", scaled(g)) * (1 / M_PI); }
Term cauchy_ppf(Given g) { return unscaled(g, call("tan", M_PI * g[0] - M_PI / 2)); }
Term cauchy_isf(Given g) { return unscaled(g, call("tan", M_PI / 2 - M_PI * g[0])); }
constexpr DistributionMember kCauchy[] = {
    {"logpdf", cauchy_logpdf, kStrong, kComplexToo},    {"pdf", exp_of<cauchy_logpdf>, kStrong, kComplexToo},
    {"cdf", cauchy_cdf, kStrong, kComplexToo},          {"logcdf", log_of<cauchy_cdf>, kStrong, kComplexToo},
    {"sf", mirrored<cauchy_cdf>, kStrong, kComplexToo}, {"logsf", mirrored<log_of<cauchy_cdf>>, kStrong, kComplexToo},
    {"ppf", cauchy_ppf, kStrong, kComplexToo},          {"isf", cauchy_isf, kStrong, kComplexToo}};

Term expon_logpdf(Given g) { return where(g[0] < g[1], kNoChance, -(scaled(g) + log(g[2]))); }
Term expon_logsf(Given g) { return where(g[0] < g[1], 0.0, scaled_down(g)); }
Term expon_cdf(Given g) { return where(g[0] < g[1], 0.0, -call("expm1", scaled_down(g))); }
Term expon_logcdf(Given g) { return call("log1p", -exp(expon_logsf(g))); }
Term expon_ppf(Given g) { return of_share(g[0], g[1] - g[2] * call("log1p", -g[0])); }
constexpr DistributionMember kExpon[] = {
    {"logpdf", expon_logpdf, kWeak},       {"pdf", exp_of<expon_logpdf>, kWeak}, {"cdf", expon_cdf, kWeak},
    {"logcdf", expon_logcdf, kWeak},       {"sf", exp_of<expon_logsf>, kWeak},   {"logsf", expon_logsf, kWeak},
    {"ppf", expon_ppf, kWeak, kComplexToo}};

Term laplace_logpdf(Given g) { return -(call("abs", g[0] - g[1]) / g[2] + log(2.0 * g[2])); }
Term laplace_cdf(Given g) {
  const Term z = scaled(g);
  const Term below = 0.5 * exp(z);
  return selected(z <= 0.0, below, 1.0 - 0.5 * exp(-z));
}
constexpr DistributionMember kLaplace[] = {{"logpdf", laplace_logpdf}, {"pdf", exp_of<laplace_logpdf>}, {"cdf", laplace_cdf}};

Term logistic_logpdf(Given g) {
  const Term half = scaled(g) / 2.0;
  return -2.0 * call2("logaddexp", half, -half) - log(g[2]);
}
Term logistic_cdf(Given g) { return call("logistic", scaled(g)); }
Term logistic_sf(Given g) { return call("logistic", -scaled(g)); }
Term logistic_ppf(Given g) { return unscaled(g, call("logit", g[0])); }
Term logistic_isf(Given g) { return unscaled(g, -call("logit", g[0])); }
constexpr DistributionMember kLogistic[] = {
    {"logpdf", logistic_logpdf, kStrong, kComplexToo}, {"pdf", exp_of<logistic_logpdf>, kStrong, kComplexToo},
    {"cdf", logistic_cdf, kWeak, kComplexToo},         {"sf", logistic_sf, kWeak, kComplexToo},
    {"ppf", logistic_ppf, kStrong, kComplexToo},       {"isf", logistic_isf, kStrong, kComplexToo}};

Term uniform_logpdf(Given g) { return where((g[0] > g[1] + g[2]) | (g[0] < g[1]), kNoChance, -log(g[2])); }
Term uniform_cdf(Given g) { return where(g[0] < g[1], 0.0, where(g[0] > g[1] + g[2], 1.0, scaled(g))); }
Term uniform_ppf(Given g) { return of_share(g[0], g[1] + g[2] * g[0]); }
constexpr DistributionMember kUniform[] = {{"logpdf", uniform_logpdf, kWeak},
                                           {"pdf", exp_of<uniform_logpdf>, kWeak},
                                           {"cdf", uniform_cdf},
                                           {"ppf", uniform_ppf, kWeak, kComplexToo}};

// Gumbel's, of the largest and of the smallest of many; without value where the scale is none.
Term of_scale(Given g, const Term& value) { return where(g[2] > 0.0, value, kNoValue); }
Term gumbel_quantile(Given g, const Term& quantile) { return where((g[0] > 0.0) & (g[0] < 1.0), quantile, kNoValue); }
Term gumbel_l_logpdf(Given g) {
  const Term z = scaled(g), density = -log(g[2]);
  return of_scale(g, density + (z - exp(z)));
}
Term gumbel_l_logcdf(Given g) { return of_scale(g, log(-call("expm1", -exp(scaled(g))))); }
Term gumbel_l_logsf(Given g) { return of_scale(g, -exp(scaled(g))); }
Term gumbel_l_ppf(Given g) { return gumbel_quantile(g, g[1] + g[2] * log(-call("log1p", -g[0]))); }
Term gumbel_r_logpdf(Given g) {
  const Term z = scaled(g), density = -log(g[2]);
  return of_scale(g, density - (z + exp(-z)));
}
Term gumbel_r_logcdf(Given g) { return of_scale(g, -exp(-scaled(g))); }
Term gumbel_r_sf(Given g) { return of_scale(g, 1.0 - exp(-exp(scaled_down(g)))); }
Term gumbel_r_logsf(Given g) { return of_scale(g, call("log1mexp", exp(scaled_down(g)))); }
Term gumbel_r_ppf(Given g) { return gumbel_quantile(g, g[1] - g[2] * log(-log(g[0]))); }
constexpr DistributionMember kGumbelL[] = {
    {"logpdf", gumbel_l_logpdf, kWeak}, {"pdf", exp_of<gumbel_l_logpdf>, kWeak}, {"cdf", exp_of<gumbel_l_logcdf>, kWeak},
    {"logcdf", gumbel_l_logcdf, kWeak}, {"sf", exp_of<gumbel_l_logsf>, kWeak},   {"logsf", gumbel_l_logsf, kWeak},
    {"ppf", gumbel_l_ppf, kWeak}};
constexpr DistributionMember kGumbelR[] = {{"logpdf", gumbel_r_logpdf, kWeak},
                                           {"pdf", exp_of<gumbel_r_logpdf>, kWeak},
                                           {"cdf", exp_of<gumbel_r_logcdf>, kWeak},
                                           {"logcdf", gumbel_r_logcdf, kWeak},
                                           {"sf", gumbel_r_sf},
                                           {"logsf", gumbel_r_logsf, kWeak},
                                           {"ppf", gumbel_r_ppf, kWeak}};

Term beta_logpdf(Given g) {
  const Term &a = g[1], &b = g[2], &loc = g[3], &scale = g[4], shape = -call2("betaln", a, b), z = scaled(g);
  const Term of_a = call2("xlogy", a - 1.0, z), linear = of_a + call2("xlog1py", b - 1.0, -z);
  const Term inside = (shape + linear) - log(scale);  // in JAX's order: gradients are summed up in it
  const Term value = where((g[0] > loc + scale) | (g[0] < loc), kNoChance, inside);
  return where((a <= 0.0) | (b <= 0.0) | (scale <= 0.0), kNoValue, value);
}
Term beta_cdf(Given g) { return call(g[0].builder(), "betainc", {g[1], g[2], held(0.0, scaled(g), 1.0)}); }
Term beta_sf(Given g) { return call(g[0].builder(), "betainc", {g[2], g[1], 1.0 - held(0.0, scaled(g), 1.0)}); }
constexpr DistributionMember kBeta[] = {{"logpdf", beta_logpdf}, {"pdf", exp_of<beta_logpdf>},
                                        {"cdf", beta_cdf},       {"logcdf", log_of<beta_cdf>},
                                        {"sf", beta_sf},         {"logsf", log_of<beta_sf>}};

Term above_zero(const Term& x) { return held(0.0, x, std::numeric_limits<double>::infinity()); }

Term gamma_logpdf(Given g) {
  const Term is_within = g[0] >= g[2], z = where(is_within, scaled(g), 1.0);
  return where(is_within, call2("xlogy", g[1] - 1.0, z) - z - (lgamma(g[1]) + log(g[3])), kNoChance);
}
Term gamma_cdf(Given g) { return call2("gammainc", g[1], above_zero(scaled(g))); }
Term gamma_sf(Given g) {
  const Term z = scaled(g);
  return where(z < 0.0, 1.0, call2("gammaincc", g[1], z));
}
constexpr DistributionMember kGamma[] = {{"logpdf", gamma_logpdf},      {"pdf", exp_of<gamma_logpdf>}, {"cdf", gamma_cdf},
                                         {"logcdf", log_of<gamma_cdf>}, {"sf", gamma_sf, kWeak},       {"logsf", log_of<gamma_sf>, kWeak}};

Term chi2_logpdf(Given g) {
  const Term z = scaled(g), half = g[1] / 2.0, less = half - 1.0, power = less * log(z), kernel = power - z / 2.0;  // in JAX's order
  const Term gamma = lgamma(half), constant = -(gamma + std::log(2.0) * g[1] / 2.0);
  return where(g[0] < g[2], kNoChance, constant - log(g[3]) + kernel);
}
Term half_scaled(Given g) { return above_zero((g[0] - g[2]) / (g[3] * 2.0)); }
Term chi2_cdf(Given g) { return call2("gammainc", g[1] / 2.0, half_scaled(g)); }
Term chi2_sf(Given g) { return call2("gammaincc", g[1] / 2.0, half_scaled(g)); }
constexpr DistributionMember kChi2[] = {{"logpdf", chi2_logpdf}, {"pdf", exp_of<chi2_logpdf>},
                                        {"cdf", chi2_cdf},       {"logcdf", log_of<chi2_cdf>},
                                        {"sf", chi2_sf},         {"logsf", log_of<chi2_sf>}};

Term t_logpdf(Given g) {
  const Term &df = g[1], &scale = g[3], z = scaled(g), half = df / 2.0, more = half + 0.5;  // in JAX's order
  const Term spread = log(scale * scale * M_PI * df) / 2.0, gamma = lgamma(half), normal = gamma + spread - lgamma(more);
  return -(normal + more * call("log1p", z * z / df));
}
constexpr DistributionMember kT[] = {{"logpdf", t_logpdf}, {"pdf", exp_of<t_logpdf>}};

Term pareto_below(Given g) { return g[0] < g[2] + g[3]; }
Term pareto_logpdf(Given g) { return where(pareto_below(g), kNoChance, -(log(g[3] / g[1]) + (g[1] + 1.0) * log(scaled(g)))); }
Term pareto_above(Given g) { return call2("power", scaled(g), -g[1]); }
Term pareto_cdf(Given g) { return where(pareto_below(g), 0.0, 1.0 - pareto_above(g)); }
Term pareto_logcdf(Given g) { return where(pareto_below(g), kNoChance, call("log1p", -pareto_above(g))); }
Term pareto_logsf(Given g) { return where(pareto_below(g), 0.0, -(g[1] * log(scaled(g)))); }
Term pareto_ppf(Given g) { return of_share(g[0], g[2] + g[3] * call2("power", 1.0 - g[0], -call("reciprocal", g[1]))); }
constexpr DistributionMember kPareto[] = {{"logpdf", pareto_logpdf},
                                          {"pdf", exp_of<pareto_logpdf>},
                                          {"cdf", pareto_cdf},
                                          {"logcdf", pareto_logcdf, kWeak},
                                          {"sf", exp_of<pareto_logsf>},
                                          {"logsf", pareto_logsf},
                                          {"ppf", pareto_ppf, kStrong, kComplexToo}};

Term gennorm_power(Given g) { return call2("power", call("abs", g[0]), g[1]); }
// In JAX's order, in which gradients are summed up: C++ leaves open which operand comes first.
Term gennorm_logpdf(Given g) {
  const Term size = log(0.5 * g[1]), constant = size - lgamma(1.0 / g[1]);
  return constant - gennorm_power(g);
}
Term gennorm_cdf(Given g) { return 0.5 * (1.0 + call("sign", g[0]) * call2("gammainc", 1.0 / g[1], gennorm_power(g))); }
constexpr DistributionMember kGennorm[] = {
    {"logpdf", gennorm_logpdf, kWeak}, {"pdf", exp_of<gennorm_logpdf>, kWeak}, {"cdf", gennorm_cdf, kWeak}};

Term vonmises_logpdf(Given g) {
  const Term is_shape = g[1] > 0.0, height = g[1] * (call("cos", g[0]) - 1.0);  // in JAX's order
  return where(is_shape, height - log(2 * M_PI * call("i0e", g[1])), kNoValue);
}
constexpr DistributionMember kVonmises[] = {{"logpdf", vonmises_logpdf, kWeak}, {"pdf", exp_of<vonmises_logpdf>, kWeak}};

// In JAX's order, and with both squares, as gradients are summed up so.
Term wrapcauchy_logpdf(Given g) {
  const Term &x = g[0], &c = g[1];
  const Term is_shape = (c > 0.0) & (c < 1.0), is_angle = (x >= 0.0) & (x <= 2 * M_PI);
  const Term first = log(1.0 - c * c) - std::log(2 * M_PI), square = 1.0 + c * c, twice = 2.0 * c;
  return where(is_shape, where(is_angle, first - log(square - twice * call("cos", x)), kNoChance), kNoValue);
}
constexpr DistributionMember kWrapcauchy[] = {{"logpdf", wrapcauchy_logpdf, kWeak}, {"pdf", exp_of<wrapcauchy_logpdf>, kWeak}};

// log(exp(x) - exp(y))
Term log_difference(const Term& x, const Term& y) {
  const Term both = stacked({x, y}, 0), weights = stacked({filled_like(x, 1), filled_like(y, -1)}, 0);
  return call(x.builder(), "logsumexp", {both, weights}, Attrs{{"axis", std::int64_t(0)}, {"b", std::int64_t(1)}});
}
// All of one shape, so that steps on one of them follow the repetition, as in JAX.
std::vector<Term> together(std::vector<Term> terms) {
  std::vector<Shape> shapes;
  for (const Term& each : terms) shapes.push_back(each.shape());
  const Shape shape = broadcast_shapes("truncnorm", shapes);
  for (Term& each : terms) each = broadcast(each, shape);
  return terms;
}
// log(ndtr(b) - ndtr(a)), in the tail that both lie in; of copies of its own, as in JAX, where their cotangents are summed up first.
// Source: scipy.stats, truncnorm.
Term log_mass(const Term& low_end, const Term& high_end) {
  const std::vector<Term> ends = together({call("passed_again", low_end), call("passed_again", high_end)});
  const Term &a = ends[0], &b = ends[1], is_left = b <= 0.0, is_right = a > 0.0, is_central = !(is_left | is_right);
  const Term low = where(is_right, -b, a), high = where(is_right, -a, b), log_high = call("log_ndtr", high);
  const Term tail = log_difference(log_high, call("log_ndtr", low));
  const Term below = -call("ndtr", a), above = call("ndtr", -b), central = call("log1p", below - above);
  return where(is_central, central, tail);
}
Term truncnorm_logpdf(Given g) {
  const std::vector<Term> normal{g[0], g[3], g[4]};
  const Term density = norm_logpdf(normal), value = density - log_mass(g[1], g[2]), z = scaled(g), is_below = z < g[1];
  const Term inside = where(is_below | (z > g[2]), kNoChance, value);
  return where(g[1] >= g[2], kNoValue, inside);
}
Term truncnorm_logcdf(Given g) {
  const std::vector<Term> all = together({g[0], g[1], g[2]});
  const Term &a = all[1], &b = all[2], z = (all[0] - g[3]) / g[4], mass = log_mass(a, b);
  const Term below = log_mass(a, z) - mass, above = log_mass(z, b) - mass;
  // By the first condition that holds, as in JAX; the third one where `below` cancels.
  const Term inside =
      call(z.builder(), "numpy.select", {z >= b, z <= a, below > -0.1, z > a, 0.0, kNoChance, call("log1p", -exp(above)), below, 0});
  return where(a >= b, kNoValue, inside);
}
Term truncnorm_logsf(Given g) {
  const std::vector<Term> other{-g[0], -g[2], -g[1], -g[3], g[4]};
  return compiled<truncnorm_logcdf>(other);
}
constexpr DistributionMember kTruncnorm[] = {{"logpdf", compiled<truncnorm_logpdf>},
                                             {"pdf", exp_of<compiled<truncnorm_logpdf>>},
                                             {"cdf", compiled<exp_of<compiled<truncnorm_logcdf>>>},
                                             {"logcdf", compiled<truncnorm_logcdf>},
                                             {"sf", compiled<exp_of<compiled<truncnorm_logsf>>>},
                                             {"logsf", compiled<truncnorm_logsf>}};

constexpr DistributionParameter kLocScale[] = {{"loc", 0}, {"scale", 1}}, kABLocScale[] = {{"a"}, {"b"}, {"loc", 0}, {"scale", 1}},
                                kALocScale[] = {{"a"}, {"loc", 0}, {"scale", 1}}, kBLocScale[] = {{"b"}, {"loc", 0}, {"scale", 1}},
                                kDfLocScale[] = {{"df"}, {"loc", 0}, {"scale", 1}}, kShape[] = {{"beta"}}, kKappa[] = {{"kappa"}},
                                kC[] = {{"c"}};
constexpr Distribution kAll[] = {{"beta", "the beta", kABLocScale, kBeta},
                                 {"cauchy", "Cauchy's", kLocScale, kCauchy},
                                 {"chi2", "the chi-squared", kDfLocScale, kChi2},
                                 {"expon", "the exponential", kLocScale, kExpon},
                                 {"gamma", "the gamma", kALocScale, kGamma},
                                 {"gennorm", "the generalized normal", kShape, kGennorm},
                                 {"gumbel_l", "Gumbel's left-skewed", kLocScale, kGumbelL},
                                 {"gumbel_r", "Gumbel's right-skewed", kLocScale, kGumbelR},
                                 {"laplace", "Laplace's", kLocScale, kLaplace},
                                 {"logistic", "the logistic", kLocScale, kLogistic},
                                 {"norm", "the normal", kLocScale, kNorm},
                                 {"pareto", "Pareto's", kBLocScale, kPareto},
                                 {"t", "Student's t", kDfLocScale, kT},
                                 {"truncnorm", "the truncated normal", kABLocScale, kTruncnorm},
                                 {"uniform", "the uniform", kLocScale, kUniform},
                                 {"vonmises", "von Mises'", kKappa, kVonmises},
                                 {"wrapcauchy", "Cauchy's wrapped", kC, kWrapcauchy}};

}  // namespace

std::span<const Distribution> continuous_distributions() { return kAll; }

}  // namespace shardlab::ops
