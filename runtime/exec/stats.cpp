#include "runtime/exec/stats.h"

#include "runtime/exec/op_call.h"

namespace shardlab::stats {

using detail::one;

// stats::FAMILY::FUNCTION of a value and what the family has beside it; the header has the names and what goes without saying.
#define SHARDLAB_STATS_2(family, function) \
  Array family::function(const Operand& a, const Operand& b) { return one("stats." #family "." #function, {a, b}); }
#define SHARDLAB_STATS_3(family, function) \
  Array family::function(const Operand& a, const Operand& b, const Operand& c) { return one("stats." #family "." #function, {a, b, c}); }
#define SHARDLAB_STATS_4(family, function)                                                         \
  Array family::function(const Operand& a, const Operand& b, const Operand& c, const Operand& d) { \
    return one("stats." #family "." #function, {a, b, c, d});                                      \
  }
#define SHARDLAB_STATS_5(family, function)                                                                           \
  Array family::function(const Operand& a, const Operand& b, const Operand& c, const Operand& d, const Operand& e) { \
    return one("stats." #family "." #function, {a, b, c, d, e});                                                     \
  }

SHARDLAB_STATS_5(beta, logpdf)
SHARDLAB_STATS_5(beta, pdf)
SHARDLAB_STATS_5(beta, cdf)
SHARDLAB_STATS_5(beta, logcdf)
SHARDLAB_STATS_5(beta, sf)
SHARDLAB_STATS_5(beta, logsf)
SHARDLAB_STATS_3(cauchy, logpdf)
SHARDLAB_STATS_3(cauchy, pdf)
SHARDLAB_STATS_3(cauchy, cdf)
SHARDLAB_STATS_3(cauchy, logcdf)
SHARDLAB_STATS_3(cauchy, sf)
SHARDLAB_STATS_3(cauchy, logsf)
SHARDLAB_STATS_3(cauchy, ppf)
SHARDLAB_STATS_3(cauchy, isf)
SHARDLAB_STATS_4(chi2, logpdf)
SHARDLAB_STATS_4(chi2, pdf)
SHARDLAB_STATS_4(chi2, cdf)
SHARDLAB_STATS_4(chi2, logcdf)
SHARDLAB_STATS_4(chi2, sf)
SHARDLAB_STATS_4(chi2, logsf)
SHARDLAB_STATS_3(expon, logpdf)
SHARDLAB_STATS_3(expon, pdf)
SHARDLAB_STATS_3(expon, cdf)
SHARDLAB_STATS_3(expon, logcdf)
SHARDLAB_STATS_3(expon, sf)
SHARDLAB_STATS_3(expon, logsf)
SHARDLAB_STATS_3(expon, ppf)
SHARDLAB_STATS_4(gamma, logpdf)
SHARDLAB_STATS_4(gamma, pdf)
SHARDLAB_STATS_4(gamma, cdf)
SHARDLAB_STATS_4(gamma, logcdf)
SHARDLAB_STATS_4(gamma, sf)
SHARDLAB_STATS_4(gamma, logsf)
SHARDLAB_STATS_2(gennorm, logpdf)
SHARDLAB_STATS_2(gennorm, pdf)
SHARDLAB_STATS_2(gennorm, cdf)
SHARDLAB_STATS_3(gumbel_l, logpdf)
SHARDLAB_STATS_3(gumbel_l, pdf)
SHARDLAB_STATS_3(gumbel_l, cdf)
SHARDLAB_STATS_3(gumbel_l, logcdf)
SHARDLAB_STATS_3(gumbel_l, sf)
SHARDLAB_STATS_3(gumbel_l, logsf)
SHARDLAB_STATS_3(gumbel_l, ppf)
SHARDLAB_STATS_3(gumbel_r, logpdf)
SHARDLAB_STATS_3(gumbel_r, pdf)
SHARDLAB_STATS_3(gumbel_r, cdf)
SHARDLAB_STATS_3(gumbel_r, logcdf)
SHARDLAB_STATS_3(gumbel_r, sf)
SHARDLAB_STATS_3(gumbel_r, logsf)
SHARDLAB_STATS_3(gumbel_r, ppf)
SHARDLAB_STATS_3(laplace, logpdf)
SHARDLAB_STATS_3(laplace, pdf)
SHARDLAB_STATS_3(laplace, cdf)
SHARDLAB_STATS_3(logistic, logpdf)
SHARDLAB_STATS_3(logistic, pdf)
SHARDLAB_STATS_3(logistic, cdf)
SHARDLAB_STATS_3(logistic, sf)
SHARDLAB_STATS_3(logistic, ppf)
SHARDLAB_STATS_3(logistic, isf)
SHARDLAB_STATS_3(norm, logpdf)
SHARDLAB_STATS_3(norm, pdf)
SHARDLAB_STATS_3(norm, cdf)
SHARDLAB_STATS_3(norm, logcdf)
SHARDLAB_STATS_3(norm, sf)
SHARDLAB_STATS_3(norm, logsf)
SHARDLAB_STATS_3(norm, ppf)
SHARDLAB_STATS_3(norm, isf)
SHARDLAB_STATS_4(pareto, logpdf)
SHARDLAB_STATS_4(pareto, pdf)
SHARDLAB_STATS_4(pareto, cdf)
SHARDLAB_STATS_4(pareto, logcdf)
SHARDLAB_STATS_4(pareto, sf)
SHARDLAB_STATS_4(pareto, logsf)
SHARDLAB_STATS_4(pareto, ppf)
SHARDLAB_STATS_4(t, logpdf)
SHARDLAB_STATS_4(t, pdf)
SHARDLAB_STATS_5(truncnorm, logpdf)
SHARDLAB_STATS_5(truncnorm, pdf)
SHARDLAB_STATS_5(truncnorm, cdf)
SHARDLAB_STATS_5(truncnorm, logcdf)
SHARDLAB_STATS_5(truncnorm, sf)
SHARDLAB_STATS_5(truncnorm, logsf)
SHARDLAB_STATS_3(uniform, logpdf)
SHARDLAB_STATS_3(uniform, pdf)
SHARDLAB_STATS_3(uniform, cdf)
SHARDLAB_STATS_3(uniform, ppf)
SHARDLAB_STATS_2(vonmises, logpdf)
SHARDLAB_STATS_2(vonmises, pdf)
SHARDLAB_STATS_2(wrapcauchy, logpdf)
SHARDLAB_STATS_2(wrapcauchy, pdf)
SHARDLAB_STATS_3(bernoulli, logpmf)
SHARDLAB_STATS_3(bernoulli, pmf)
SHARDLAB_STATS_3(bernoulli, cdf)
SHARDLAB_STATS_3(bernoulli, ppf)
SHARDLAB_STATS_5(betabinom, logpmf)
SHARDLAB_STATS_5(betabinom, pmf)
SHARDLAB_STATS_4(binom, logpmf)
SHARDLAB_STATS_4(binom, pmf)
SHARDLAB_STATS_3(geom, logpmf)
SHARDLAB_STATS_3(geom, pmf)
SHARDLAB_STATS_4(nbinom, logpmf)
SHARDLAB_STATS_4(nbinom, pmf)
SHARDLAB_STATS_3(poisson, logpmf)
SHARDLAB_STATS_3(poisson, pmf)
SHARDLAB_STATS_3(poisson, cdf)

SHARDLAB_STATS_3(multivariate_normal, logpdf)
SHARDLAB_STATS_3(multivariate_normal, pdf)
SHARDLAB_STATS_2(dirichlet, logpdf)
SHARDLAB_STATS_2(dirichlet, pdf)
SHARDLAB_STATS_3(multinomial, logpmf)
SHARDLAB_STATS_3(multinomial, pmf)

#undef SHARDLAB_STATS_2
#undef SHARDLAB_STATS_3
#undef SHARDLAB_STATS_4
#undef SHARDLAB_STATS_5

Array sem(const Operand& x, std::optional<std::int64_t> axis, std::int64_t ddof) {
  Attrs attrs{{"ddof", ddof}};
  return one("stats.sem", {x}, axis ? attrs.set("axis", *axis) : attrs.set("flatten", true));
}
Array rankdata(const Operand& x, std::string_view method) { return one("stats.rankdata", {x}, {{"method", std::string(method)}}); }

}  // namespace shardlab::stats
