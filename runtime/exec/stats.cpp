#include "runtime/exec/stats.h"

#include "runtime/exec/op_call.h"

namespace shardlab::stats {

using detail::one;

namespace beta {
Array logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.beta.logpdf", {x, a, b, loc, scale});
}
Array pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.beta.pdf", {x, a, b, loc, scale});
}
Array cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.beta.cdf", {x, a, b, loc, scale});
}
Array logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.beta.logcdf", {x, a, b, loc, scale});
}
Array sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.beta.sf", {x, a, b, loc, scale});
}
Array logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.beta.logsf", {x, a, b, loc, scale});
}
}  // namespace beta
namespace cauchy {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.cauchy.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.cauchy.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.cauchy.cdf", {x, loc, scale}); }
Array logcdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.cauchy.logcdf", {x, loc, scale}); }
Array sf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.cauchy.sf", {x, loc, scale}); }
Array logsf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.cauchy.logsf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.cauchy.ppf", {q, loc, scale}); }
Array isf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.cauchy.isf", {q, loc, scale}); }
}  // namespace cauchy
namespace chi2 {
Array logpdf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.chi2.logpdf", {x, df, loc, scale});
}
Array pdf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.chi2.pdf", {x, df, loc, scale});
}
Array cdf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.chi2.cdf", {x, df, loc, scale});
}
Array logcdf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.chi2.logcdf", {x, df, loc, scale});
}
Array sf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.chi2.sf", {x, df, loc, scale});
}
Array logsf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.chi2.logsf", {x, df, loc, scale});
}
}  // namespace chi2
namespace expon {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.expon.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.expon.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.expon.cdf", {x, loc, scale}); }
Array logcdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.expon.logcdf", {x, loc, scale}); }
Array sf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.expon.sf", {x, loc, scale}); }
Array logsf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.expon.logsf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.expon.ppf", {q, loc, scale}); }
}  // namespace expon
namespace gamma {
Array logpdf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return one("stats.gamma.logpdf", {x, a, loc, scale});
}
Array pdf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return one("stats.gamma.pdf", {x, a, loc, scale});
}
Array cdf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return one("stats.gamma.cdf", {x, a, loc, scale});
}
Array logcdf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return one("stats.gamma.logcdf", {x, a, loc, scale});
}
Array sf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) { return one("stats.gamma.sf", {x, a, loc, scale}); }
Array logsf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) {
  return one("stats.gamma.logsf", {x, a, loc, scale});
}
}  // namespace gamma
namespace gennorm {
Array logpdf(const Operand& x, const Operand& beta) { return one("stats.gennorm.logpdf", {x, beta}); }
Array pdf(const Operand& x, const Operand& beta) { return one("stats.gennorm.pdf", {x, beta}); }
Array cdf(const Operand& x, const Operand& beta) { return one("stats.gennorm.cdf", {x, beta}); }
}  // namespace gennorm
namespace gumbel_l {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.cdf", {x, loc, scale}); }
Array logcdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.logcdf", {x, loc, scale}); }
Array sf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.sf", {x, loc, scale}); }
Array logsf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.logsf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.gumbel_l.ppf", {q, loc, scale}); }
}  // namespace gumbel_l
namespace gumbel_r {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.cdf", {x, loc, scale}); }
Array logcdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.logcdf", {x, loc, scale}); }
Array sf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.sf", {x, loc, scale}); }
Array logsf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.logsf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.gumbel_r.ppf", {q, loc, scale}); }
}  // namespace gumbel_r
namespace laplace {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.laplace.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.laplace.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.laplace.cdf", {x, loc, scale}); }
}  // namespace laplace
namespace logistic {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.logistic.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.logistic.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.logistic.cdf", {x, loc, scale}); }
Array sf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.logistic.sf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.logistic.ppf", {q, loc, scale}); }
Array isf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.logistic.isf", {q, loc, scale}); }
}  // namespace logistic
namespace norm {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.norm.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.norm.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.norm.cdf", {x, loc, scale}); }
Array logcdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.norm.logcdf", {x, loc, scale}); }
Array sf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.norm.sf", {x, loc, scale}); }
Array logsf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.norm.logsf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.norm.ppf", {q, loc, scale}); }
Array isf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.norm.isf", {q, loc, scale}); }
}  // namespace norm
namespace pareto {
Array logpdf(const Operand& x, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.logpdf", {x, b, loc, scale});
}
Array pdf(const Operand& x, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.pdf", {x, b, loc, scale});
}
Array cdf(const Operand& x, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.cdf", {x, b, loc, scale});
}
Array logcdf(const Operand& x, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.logcdf", {x, b, loc, scale});
}
Array sf(const Operand& x, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.sf", {x, b, loc, scale});
}
Array logsf(const Operand& x, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.logsf", {x, b, loc, scale});
}
Array ppf(const Operand& q, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.pareto.ppf", {q, b, loc, scale});
}
}  // namespace pareto
namespace t {
Array logpdf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) {
  return one("stats.t.logpdf", {x, df, loc, scale});
}
Array pdf(const Operand& x, const Operand& df, const Operand& loc, const Operand& scale) { return one("stats.t.pdf", {x, df, loc, scale}); }
}  // namespace t
namespace truncnorm {
Array logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.truncnorm.logpdf", {x, a, b, loc, scale});
}
Array pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.truncnorm.pdf", {x, a, b, loc, scale});
}
Array cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.truncnorm.cdf", {x, a, b, loc, scale});
}
Array logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.truncnorm.logcdf", {x, a, b, loc, scale});
}
Array sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.truncnorm.sf", {x, a, b, loc, scale});
}
Array logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return one("stats.truncnorm.logsf", {x, a, b, loc, scale});
}
}  // namespace truncnorm
namespace uniform {
Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.uniform.logpdf", {x, loc, scale}); }
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.uniform.pdf", {x, loc, scale}); }
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) { return one("stats.uniform.cdf", {x, loc, scale}); }
Array ppf(const Operand& q, const Operand& loc, const Operand& scale) { return one("stats.uniform.ppf", {q, loc, scale}); }
}  // namespace uniform
namespace vonmises {
Array logpdf(const Operand& x, const Operand& kappa) { return one("stats.vonmises.logpdf", {x, kappa}); }
Array pdf(const Operand& x, const Operand& kappa) { return one("stats.vonmises.pdf", {x, kappa}); }
}  // namespace vonmises
namespace wrapcauchy {
Array logpdf(const Operand& x, const Operand& c) { return one("stats.wrapcauchy.logpdf", {x, c}); }
Array pdf(const Operand& x, const Operand& c) { return one("stats.wrapcauchy.pdf", {x, c}); }
}  // namespace wrapcauchy
namespace bernoulli {
Array logpmf(const Operand& k, const Operand& p, const Operand& loc) { return one("stats.bernoulli.logpmf", {k, p, loc}); }
Array pmf(const Operand& k, const Operand& p, const Operand& loc) { return one("stats.bernoulli.pmf", {k, p, loc}); }
Array cdf(const Operand& k, const Operand& p, const Operand& loc) { return one("stats.bernoulli.cdf", {k, p, loc}); }
Array ppf(const Operand& q, const Operand& p, const Operand& loc) { return one("stats.bernoulli.ppf", {q, p, loc}); }
}  // namespace bernoulli
namespace betabinom {
Array logpmf(const Operand& k, const Operand& n, const Operand& a, const Operand& b, const Operand& loc) {
  return one("stats.betabinom.logpmf", {k, n, a, b, loc});
}
Array pmf(const Operand& k, const Operand& n, const Operand& a, const Operand& b, const Operand& loc) {
  return one("stats.betabinom.pmf", {k, n, a, b, loc});
}
}  // namespace betabinom
namespace binom {
Array logpmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc) { return one("stats.binom.logpmf", {k, n, p, loc}); }
Array pmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc) { return one("stats.binom.pmf", {k, n, p, loc}); }
}  // namespace binom
namespace geom {
Array logpmf(const Operand& k, const Operand& p, const Operand& loc) { return one("stats.geom.logpmf", {k, p, loc}); }
Array pmf(const Operand& k, const Operand& p, const Operand& loc) { return one("stats.geom.pmf", {k, p, loc}); }
}  // namespace geom
namespace nbinom {
Array logpmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc) {
  return one("stats.nbinom.logpmf", {k, n, p, loc});
}
Array pmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc) { return one("stats.nbinom.pmf", {k, n, p, loc}); }
}  // namespace nbinom
namespace poisson {
Array logpmf(const Operand& k, const Operand& mu, const Operand& loc) { return one("stats.poisson.logpmf", {k, mu, loc}); }
Array pmf(const Operand& k, const Operand& mu, const Operand& loc) { return one("stats.poisson.pmf", {k, mu, loc}); }
Array cdf(const Operand& k, const Operand& mu, const Operand& loc) { return one("stats.poisson.cdf", {k, mu, loc}); }
}  // namespace poisson

namespace multivariate_normal {
Array logpdf(const Operand& x, const Operand& mean, const Operand& cov) { return one("stats.multivariate_normal.logpdf", {x, mean, cov}); }
Array pdf(const Operand& x, const Operand& mean, const Operand& cov) { return one("stats.multivariate_normal.pdf", {x, mean, cov}); }
}  // namespace multivariate_normal
namespace dirichlet {
Array logpdf(const Operand& x, const Operand& alpha) { return one("stats.dirichlet.logpdf", {x, alpha}); }
Array pdf(const Operand& x, const Operand& alpha) { return one("stats.dirichlet.pdf", {x, alpha}); }
}  // namespace dirichlet
namespace multinomial {
Array logpmf(const Operand& x, const Operand& n, const Operand& p) { return one("stats.multinomial.logpmf", {x, n, p}); }
Array pmf(const Operand& x, const Operand& n, const Operand& p) { return one("stats.multinomial.pmf", {x, n, p}); }
}  // namespace multinomial

Array sem(const Operand& x, std::optional<std::int64_t> axis, std::int64_t ddof) {
  Attrs attrs{{"ddof", ddof}};
  return one("stats.sem", {x}, axis ? attrs.set("axis", *axis) : attrs.set("flatten", true));
}
Array rankdata(const Operand& x, std::string_view method) { return one("stats.rankdata", {x}, {{"method", std::string(method)}}); }

}  // namespace shardlab::stats
