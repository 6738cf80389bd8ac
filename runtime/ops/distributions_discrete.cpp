// Distributions of whole numbers.
#include <cmath>

#include "runtime/ops/distributions.h"

namespace shardlab::ops {
namespace {

using Given = DistributionTerms;

Term lgamma(const Term& x) { return call("lgamma", x); }
Term call2(std::string_view op, const Item& x, const Term& y) { return call(y.builder(), op, {x, y}); }
// The value, counted from the last parameter on.
Term counted(Given g) { return g[0] - g.back(); }

Term bernoulli_logpmf(Given g) {
  const Term k = counted(g);
  return where((k < 0.0) | (k > 1.0), kNoChance, call2("xlogy", k, g[1]) + call2("xlog1py", 1.0 - k, -g[1]));
}
Term bernoulli_cdf(Given g) {
  const Term k = counted(g), &p = g[1];
  const Term is_outside = (k != k) | (p != p) | (p < 0.0) | (p > 1.0);
  const Term one = filled_like(k, 1);
  return call(k.builder(), "numpy.select",
              {is_outside, k < 0.0, (k >= 0.0) & (k < 1.0), k >= 1.0, kNoValue, filled_like(k, 0), one - p, one, 0});
}
Term bernoulli_ppf(Given g) {
  const Term &q = g[0], &p = g[1];
  return where((p >= 0.0) & (p <= 1.0) & (q >= 0.0) & (q <= 1.0), where(q <= 1.0 - p, filled_like(q, 0), filled_like(q, 1)) + g[2],
               kNoValue);
}
constexpr DistributionMember kBernoulli[] = {
    {"logpmf", bernoulli_logpmf}, {"pmf", exp_of<bernoulli_logpmf>}, {"cdf", bernoulli_cdf}, {"ppf", bernoulli_ppf}};

Term binom_logpmf(Given g) {
  const Term &n = g[1], &p = g[2], &loc = g[3], k = counted(g);
  const Term linear = call2("xlogy", k, p) + call2("xlog1py", n - k, -p);
  const Term value = lgamma(n + 1.0) - (lgamma(k + 1.0) + lgamma(n - k + 1.0)) + linear;
  const Term is_certain = ((k == 0.0) & (n == 0.0)) | (linear == 0.0);
  return where((g[0] >= loc) & (g[0] < loc + n + 1.0), where(is_certain, 0.0, value), kNoChance);
}
constexpr DistributionMember kBinom[] = {{"logpmf", binom_logpmf, kWeak}, {"pmf", exp_of<binom_logpmf>, kWeak}};

// In JAX's order, step by step: operands that lie otherwise are met in it.
Term betabinom_logpmf(Given g) {
  const Term &n = g[1], &a = g[2], &b = g[3], &loc = g[4], k = call("floor", g[0]) - loc;
  const Term rest = call("log1p", n), left = n - k + 1.0, choices = -(rest + call2("betaln", left, k + 1.0));
  const Term first = k + a, second = n - k + b, of_both = call2("betaln", first, second);
  Term value = choices + (of_both - call2("betaln", a, b));
  const Term is_none = k == 0.0, is_certain = is_none & (n == 0.0);
  value = where(is_certain, 0.0, value);
  const Term is_below = k < -loc, is_outside = is_below | (k > n), is_without = is_outside | (k + a <= 0.0);
  value = where(is_without, kNoChance, value);
  const Term is_negative = n < 0.0, is_undefined = (is_negative | (a <= 0.0)) | (b <= 0.0);
  return where(is_undefined, kNoValue, value);
}
constexpr DistributionMember kBetabinom[] = {{"logpmf", compiled<betabinom_logpmf>}, {"pmf", exp_of<compiled<betabinom_logpmf>>}};

Term geom_logpmf(Given g) {
  const Term k = counted(g);
  return where(k <= 0.0, kNoChance, call2("xlog1py", k - 1.0, -g[1]) + call("log", g[1]));
}
constexpr DistributionMember kGeom[] = {{"logpmf", geom_logpmf}, {"pmf", exp_of<geom_logpmf>}};

Term nbinom_logpmf(Given g) {
  const Term &n = g[1], &p = g[2], k = counted(g);
  const Term choices = lgamma(k + n) - lgamma(n) - lgamma(k + 1.0);
  return where(k < 0.0, kNoChance, choices + (call2("xlogy", n, p) + call2("xlogy", k, 1.0 - p)));
}
constexpr DistributionMember kNbinom[] = {{"logpmf", nbinom_logpmf}, {"pmf", exp_of<nbinom_logpmf>}};

Term poisson_logpmf(Given g) {
  const Term k = counted(g);
  return where((k < 0.0) | (call("round", g[0]) != g[0]), kNoChance, call2("xlogy", k, g[1]) - lgamma(k + 1.0) - g[1]);
}
Term poisson_cdf(Given g) {
  const Term k = counted(g);
  return where(k < 0.0, 0.0, call2("gammaincc", call("floor", 1.0 + k), g[1]));
}
constexpr DistributionMember kPoisson[] = {{"logpmf", poisson_logpmf, kWeak}, {"pmf", exp_of<poisson_logpmf>, kWeak}, {"cdf", poisson_cdf}};

constexpr DistributionParameter kPLoc[] = {{"p"}, {"loc", 0}}, kNPLoc[] = {{"n"}, {"p"}, {"loc", 0}},
                                kNABLoc[] = {{"n"}, {"a"}, {"b"}, {"loc", 0}}, kMuLoc[] = {{"mu"}, {"loc", 0}};
constexpr Distribution kAll[] = {{"bernoulli", "Bernoulli's", kPLoc, kBernoulli},
                                 {"betabinom", "the beta-binomial", kNABLoc, kBetabinom},
                                 {"binom", "the binomial", kNPLoc, kBinom},
                                 {"geom", "the geometric", kPLoc, kGeom},
                                 {"nbinom", "the negative binomial", kNPLoc, kNbinom},
                                 {"poisson", "Poisson's", kMuLoc, kPoisson}};

}  // namespace

std::span<const Distribution> discrete_distributions() { return kAll; }

}  // namespace shardlab::ops
