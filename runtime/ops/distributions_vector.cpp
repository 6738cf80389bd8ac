// Distributions of vectors, ranks and the error of a mean: functions of jax.scipy.stats that are not element by element.
#include <cmath>

#include "runtime/ops/decompositions.h"
#include "runtime/ops/distributions.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

std::vector<Term> reals(GraphBuilder& b, const OpDef& op, Args args) {
  const DType dtype = inexact(promoted_dtype(b, args));
  if (is_complex(dtype)) throw_user_error("{} does not support complex-valued inputs.", op.name);
  std::vector<Term> terms;
  for (const Arg& arg : args) terms.emplace_back(b, value_of(b, arg, dtype));
  return terms;
}

using LogDensity = Term (*)(GraphBuilder&, const OpDef&, Args);
template <LogDensity density, bool kIsLog>
Values expand_density(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term logarithm = density(b, op, args);
  return {kIsLog ? logarithm.id() : call("exp", logarithm).id()};
}

// Vectors are the last dimension; a covariance without dimensions is that of each element.
Term normal_logpdf(GraphBuilder& b, const OpDef& op, Args args) {
  const std::vector<Term> given = reals(b, op, args);
  const Term &mean = given[1], &covariance = given[2], away = given[0] - mean;
  const double turn = std::log(2 * M_PI);
  if (mean.rank() == 0) return -0.5 * call("square", away) / covariance - 0.5 * (turn + call("log", covariance));
  const std::int64_t n = mean.size(-1);
  auto squares = [](const Term& y) { return summed(y * y, {y.rank() - 1}); };
  if (covariance.rank() == 0) return -0.5 * squares(away) / covariance - double(n) / 2 * (turn + call("log", covariance));
  if (covariance.rank() < 2 || covariance.size(-1) != n || covariance.size(-2) != n)
    throw_user_error("multivariate_normal.logpdf got incompatible shapes: mean {} and cov {}", mean.text(), covariance.text());
  const Term factor = call("cholesky", covariance);
  // One covariance has all vectors as rows of one triangular system, as in JAX; else leading dimensions broadcast.
  Term y = away;
  if (covariance.rank() == 2) {
    const Term rows = reshaped(away, {away.elements() / std::max<std::int64_t>(n, 1), n});
    y = reshaped(triangular_solution(factor, rows, {.lower = true, .transpose_a = true}), away.shape());
  } else {
    const Term found = call(b, "linalg.solve_triangular", {factor, expanded(away, away.rank())}, Attrs{{"lower", true}});
    y = part(found, found.rank() - 1, 0);
  }
  const Term spread = call("diagonal", factor, Attrs{{"axis1", std::int64_t(-2)}, {"axis2", std::int64_t(-1)}});
  const Term volume = summed(call("log", spread), {spread.rank() - 1});
  return -0.5 * squares(y) - double(n) / 2 * turn - volume;
}

// Shares are the first dimension; the last one may be left out.
Term dirichlet_logpdf(GraphBuilder& b, const OpDef& op, Args args) {
  const std::vector<Term> given = reals(b, op, args);
  Term x = given[0], alpha = given[1];
  if (alpha.rank() != 1) throw_user_error("{}: `alpha` must be one-dimensional; got alpha.shape={}", op.name, text_of(alpha.shape()));
  const std::int64_t n = alpha.size(0);
  if (x.rank() < 1 || (x.size(0) != n && x.size(0) != n - 1))
    throw_user_error("{}: `x` must have either the same number of entries as `alpha` or one entry fewer; got x.shape={}, alpha.shape={}",
                     op.name, text_of(x.shape()), text_of(alpha.shape()));
  if (x.size(0) != n) x = joined({x, 1.0 - summed(x, {0}, true)}, 0);
  auto lgamma = [](const Term& value) { return call("lgamma", value); };
  const Term scale = summed(lgamma(alpha), {0}) - lgamma(summed(alpha, {0}));
  Shape along(std::size_t(x.rank()), 1);
  along[0] = n;
  const Term value = summed(call(b, "xlogy", {reshaped(alpha, along) - 1.0, x}), {0}) - scale;
  const Term is_share = call("all", x > 0.0, Attrs{{"axis", std::int64_t(0)}}) & (call("abs", summed(x, {0}) - 1.0) < 1e-6);
  return where(is_share, value, kNoChance);
}

// Counts are the last dimension.
Term multinomial_logpmf(GraphBuilder& b, const OpDef& op, Args args) {
  for (std::size_t i : {0, 1})
    if (!is_integer(dtype_of_arg(b, args[i])))
      throw_user_error("{}: x and n must be of integer type; got dtype {}", op.name, name_of(dtype_of_arg(b, args[i])));
  const DType dtype = inexact(dtype_of_arg(b, args[2]));
  const Term x(b, value_of(b, args[0], dtype)), n(b, value_of(b, args[1], dtype)), p(b, value_of(b, args[2], dtype));
  const Term each = call(b, "xlogy", {x, p}) - call("lgamma", x + 1.0);
  const Term value = call("lgamma", n + 1.0) + summed(each, {each.rank() - 1});
  return where(call("sum", x) == n, value, kNoChance);
}

// --- Of samples.

Values expand_sem(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = as_inexact(term(b, args[0]));
  const bool is_flat = attrs.flag("flatten");
  const int axis = is_flat ? 0 : normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  Attrs how{{"ddof", attrs.integer("ddof", 1)}, {"keepdims", attrs.flag("keepdims")}};
  if (!is_flat) how.set("axis", std::int64_t(axis));
  const Term deviation = converted(call("std", x, how), x.dtype());
  return {(deviation / std::sqrt(double(is_flat ? x.elements() : x.size(axis)))).id()};
}

// Places in ascending order, from 1 on, over all elements; those of equal elements by their method.
Values expand_rankdata(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = raveled(term(b, args[0]));
  const std::string method = attrs.has("method") ? attrs.string("method") : "average";
  const std::int64_t size = x.size(0);
  const DType dtype = dtype_or(b, {}, WeakKind::kReal);
  const Term order = call("argsort", x), place = call("argsort", order), sorted = taken(x, order, 0);
  Term rank = place + 1;
  if (method != "ordinal") {
    const Term first(b, filled(b, {DType::kBool, {std::min<std::int64_t>(size, 1)}}, Scalar{true}));
    const Term is_new = size < 2 ? first : joined({first, sliced(sorted, 0, 1, size) != sliced(sorted, 0, 0, size - 1)}, 0);
    const Term group = call("cumsum", converted(is_new, DType::kInt32)), dense = taken(group, place, 0);
    // Where each group begins; behind the last one, how many elements there are.
    const Term begins = call("flatnonzero", is_new, Attrs{{"size", size + 1}, {"fill_value", size}});
    const Term until = taken(begins, dense, 0), from = taken(begins, dense - 1, 0) + 1;
    if (method == "dense")
      rank = dense;
    else if (method == "max")
      rank = until;
    else if (method == "min")
      rank = from;
    else if (method == "average")
      rank = converted(until + from, dtype) * 0.5;
    else
      throw_user_error("{}: unknown method '{}'", op.name, method);
  }
  rank = converted(rank, dtype);
  return {is_floating(x.dtype()) ? where(call("any", x != x), std::numeric_limits<double>::quiet_NaN(), rank).id() : rank.id()};
}

constexpr AttrDef kSemAttrs[] = {{"axis", Kind::kInteger, false, "along which; the first by default"},
                                 {"flatten", Kind::kFlag, false, "whether over all elements, as NumPy's axis None"},
                                 {"ddof", Kind::kInteger, false, "taken from the count; 1 by default"},
                                 {"keepdims", Kind::kFlag, false, "whether the dimension stays, with size 1"}};
constexpr AttrDef kRankAttrs[] = {
    {"method", Kind::kString, false, "of equal elements: average (the default), min, max, dense, or ordinal: each its own"}};

}  // namespace

extern const OpDef kMultivariateNormalLogpdf, kMultivariateNormalPdf, kDirichletLogpdf, kDirichletPdf, kMultinomialLogpmf, kMultinomialPmf,
    kSem, kRankdata;

const OpDef kMultivariateNormalLogpdf =
    composite_of({"stats.multivariate_normal.logpdf", "The density's logarithm of normal vectors: args x, mean, cov.",
                  expand_density<normal_logpdf, true>, 3, 3});
const OpDef kMultivariateNormalPdf = composite_of(
    {"stats.multivariate_normal.pdf", "The density of normal vectors: args x, mean, cov.", expand_density<normal_logpdf, false>, 3, 3});
const OpDef kDirichletLogpdf =
    composite_of({"stats.dirichlet.logpdf", "The density's logarithm of Dirichlet's distribution: args x, alpha.",
                  expand_density<dirichlet_logpdf, true>, 2, 2});
const OpDef kDirichletPdf = composite_of(
    {"stats.dirichlet.pdf", "The density of Dirichlet's distribution: args x, alpha.", expand_density<dirichlet_logpdf, false>, 2, 2});
const OpDef kMultinomialLogpmf =
    composite_of({"stats.multinomial.logpmf", "The probability's logarithm of the multinomial distribution: args x, n, p.",
                  expand_density<multinomial_logpmf, true>, 3, 3});
const OpDef kMultinomialPmf = composite_of({"stats.multinomial.pmf", "The probability of the multinomial distribution: args x, n, p.",
                                            expand_density<multinomial_logpmf, false>, 3, 3});
const OpDef kSem =
    compiled_alone(composite_of({"stats.sem", "The standard error of the mean along an axis.", expand_sem, 1, 1, kSemAttrs}));
const OpDef kRankdata = compiled_alone(
    composite_of({"stats.rankdata", "Each element's place in ascending order, from 1 on.", expand_rankdata, 1, 1, kRankAttrs}));

}  // namespace shardlab::ops
