// jax.scipy.stats in C++: stats::norm::logpdf(x, loc, scale). Parameters are numbers or arrays that broadcast with the value.
//
// pdf and pmf are densities and probabilities, cdf the share below a value, sf the share above it, ppf and isf their inverses.
#pragma once

#include "runtime/exec/ops.h"

namespace shardlab::stats {

namespace beta {
Array logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace beta
namespace cauchy {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array isf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace cauchy
namespace chi2 {
Array logpdf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace chi2
namespace expon {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace expon
namespace gamma {
Array logpdf(const Operand& x, const Operand& a, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& a, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& a, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& a, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& a, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& a, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace gamma
namespace gennorm {
Array logpdf(const Operand& x, const Operand& beta);
Array pdf(const Operand& x, const Operand& beta);
Array cdf(const Operand& x, const Operand& beta);
}  // namespace gennorm
namespace gumbel_l {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace gumbel_l
namespace gumbel_r {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace gumbel_r
namespace laplace {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace laplace
namespace logistic {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array isf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace logistic
namespace norm {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array isf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace norm
namespace pareto {
Array logpdf(const Operand& x, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace pareto
namespace t {
Array logpdf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& df, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace t
namespace truncnorm {
Array logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace truncnorm
namespace uniform {
Array logpdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array pdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array cdf(const Operand& x, const Operand& loc = 0.0, const Operand& scale = 1.0);
Array ppf(const Operand& q, const Operand& loc = 0.0, const Operand& scale = 1.0);
}  // namespace uniform
namespace vonmises {
Array logpdf(const Operand& x, const Operand& kappa);
Array pdf(const Operand& x, const Operand& kappa);
}  // namespace vonmises
namespace wrapcauchy {
Array logpdf(const Operand& x, const Operand& c);
Array pdf(const Operand& x, const Operand& c);
}  // namespace wrapcauchy
namespace bernoulli {
Array logpmf(const Operand& k, const Operand& p, const Operand& loc = 0.0);
Array pmf(const Operand& k, const Operand& p, const Operand& loc = 0.0);
Array cdf(const Operand& k, const Operand& p, const Operand& loc = 0.0);
Array ppf(const Operand& q, const Operand& p, const Operand& loc = 0.0);
}  // namespace bernoulli
namespace betabinom {
Array logpmf(const Operand& k, const Operand& n, const Operand& a, const Operand& b, const Operand& loc = 0.0);
Array pmf(const Operand& k, const Operand& n, const Operand& a, const Operand& b, const Operand& loc = 0.0);
}  // namespace betabinom
namespace binom {
Array logpmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0.0);
Array pmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0.0);
}  // namespace binom
namespace geom {
Array logpmf(const Operand& k, const Operand& p, const Operand& loc = 0.0);
Array pmf(const Operand& k, const Operand& p, const Operand& loc = 0.0);
}  // namespace geom
namespace nbinom {
Array logpmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0.0);
Array pmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0.0);
}  // namespace nbinom
namespace poisson {
Array logpmf(const Operand& k, const Operand& mu, const Operand& loc = 0.0);
Array pmf(const Operand& k, const Operand& mu, const Operand& loc = 0.0);
Array cdf(const Operand& k, const Operand& mu, const Operand& loc = 0.0);
}  // namespace poisson

// Of vectors: the last dimension, of dirichlet the first.
namespace multivariate_normal {
Array logpdf(const Operand& x, const Operand& mean, const Operand& cov);
Array pdf(const Operand& x, const Operand& mean, const Operand& cov);
}  // namespace multivariate_normal
namespace dirichlet {
Array logpdf(const Operand& x, const Operand& alpha);
Array pdf(const Operand& x, const Operand& alpha);
}  // namespace dirichlet
namespace multinomial {
Array logpmf(const Operand& x, const Operand& n, const Operand& p);
Array pmf(const Operand& x, const Operand& n, const Operand& p);
}  // namespace multinomial

// The standard error of the mean; nothing for an axis: of all elements.
Array sem(const Operand& x, std::optional<std::int64_t> axis = 0, std::int64_t ddof = 1);
// Places in ascending order from 1 on; `method` of equal elements: average, min, max, dense or ordinal.
Array rankdata(const Operand& x, std::string_view method = "average");

}  // namespace shardlab::stats
