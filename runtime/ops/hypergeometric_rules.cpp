// The derivatives of hyp1f1 and hyp2f1: by x in closed form, by the parameters as functions of their own, and those of them as sums of the
// series' derivatives, term by term. JAX sums 250 terms, too; here below 0 after the transformation that has no terms that cancel.
#include "runtime/ops/derive.h"
#include "runtime/ops/elementwise_rules.h"
#include "runtime/ops/loops.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kTerms = 250;

// The sum over k of (a)_k … / (b)_k … x^k / k!, differentiated by one of the parameters; the last `below` of them divide.
Term series_by(std::size_t which, const Terms& parameters, std::size_t below, const Term& x) {
  GraphBuilder& b = x.builder();
  const DType dtype = x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const std::size_t above = parameters.size() - below;
  Terms init;  // the parameters and x, the term, its derivative, and the sum of those
  for (const Term& each : parameters) init.push_back(converted(each, dtype));
  init.push_back(converted(x, dtype));
  const Term& like = init.back();
  const Term one = filled_like(like, 1), zero = filled_like(like, 0);
  init.insert(init.end(), {one, zero, zero});
  const Terms found = repeated_over(init, {numbers(b, dtype, kTerms)}, [=](const Terms& carried, const Terms& slices) {
    const Term k = slices[0];
    Term rest = carried[above + below] / (k + 1.0);  // the ratio of terms without the parameter
    for (std::size_t i = 0; i < above + below; ++i)
      if (i != which) rest = i < above ? rest * (carried[i] + k) : rest / (carried[i] + k);
    const Term factor = carried[which] + k, ratio = which < above ? rest * factor : rest / factor;
    const Term change = which < above ? rest : -ratio / factor;
    const Term term = carried[above + below + 1], by = carried[above + below + 2] * ratio + term * change;
    Terms next(carried.begin(), carried.begin() + std::ptrdiff_t(above + below + 1));
    next.insert(next.end(), {term * ratio, by, carried[above + below + 3] + by});
    return next;
  });
  return converted(found[above + below + 3], x.dtype());
}

// The sum over the operands that vary of factor(i) * tangent, in JAX's order.
template <typename F>
Values scaled_sum(GraphBuilder& b, const JvpArgs& args, F&& factor) {
  ValueId sum = kZero;
  for (std::size_t i = 0; i < args.tangents.size(); ++i)
    if (args.tangents[i] != kZero) sum = add_tangents(b, sum, (factor(i) * Term(b, args.tangents[i])).id());
  return {sum};
}

// The derivatives of hyp1f1(a, c, x) and hyp2f1(p, q, c, x) by parameter i, which can be differentiated again.
Term hyp1f1_by(std::size_t i, const Terms& operands) {
  const Term &a = operands[0], &c = operands[1], &x = operands[2];
  const Term is_below = x < 0.0, scale = call("exp", where(is_below, x, 0.0));  // Kummer's transformation
  const Terms moved{where(is_below, c - a, a), c};
  const Term by_above = series_by(0, moved, 1, call("abs", x));
  if (i == 0) return where(is_below, -(scale * by_above), by_above);
  const Term by_below = series_by(1, moved, 1, call("abs", x));
  return where(is_below, scale * (by_above + by_below), by_below);
}
Term hyp2f1_by(std::size_t i, const Terms& operands) {
  const Term &p = operands[0], &q = operands[1], &c = operands[2], &x = operands[3];
  const Term &one = i == 1 ? q : p, &other = i == 1 ? p : q;
  const Term is_below = x < 0.0, low = where(is_below, x, 0.0);  // Abramowitz, Stegun, 15.3.4
  const Term logarithm = call("log1p", -low), scale = call("exp", -(one * logarithm));
  const Terms moved{one, where(is_below, c - other, other), c};
  const Term z = where(is_below, low / (low - 1.0), x);
  if (i < 2) return scale * series_by(0, moved, 1, z) - logarithm * call(p.builder(), "hyp2f1", {p, q, c, x});
  const Term by_below = series_by(2, moved, 1, z);
  return where(is_below, scale * (series_by(1, moved, 1, z) + by_below), by_below);
}

// An op's value, whose derivative is that of the series.
Term derivative(std::string_view op, const Terms& operands, std::size_t i, Term (*series)(std::size_t, const Terms&)) {
  return with_another_derivative(
      operands,
      [op](const Terms& of) {
        return call(of[0].builder(), op, {of.begin(), of.end()});
      },
      [i, series](const Terms& of) { return series(i, of); });
}

}  // namespace

Values hyp1f1_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term a(b, args.operands[0]), c(b, args.operands[1]), x(b, args.operands[2]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i == 2) return a / c * call(b, "hyp1f1", {a + 1.0, c + 1.0, x});
    return derivative(i == 0 ? "hyp1f1_grad_a" : "hyp1f1_grad_b", {a, c, x}, i, hyp1f1_by);
  });
}

Values hyp2f1_jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term p(b, args.operands[0]), q(b, args.operands[1]), c(b, args.operands[2]), x(b, args.operands[3]);
  return scaled_sum(b, args, [&](std::size_t i) {
    if (i == 3) return p * q / c * call(b, "hyp2f1", {p + 1.0, q + 1.0, c + 1.0, x});
    return derivative(i == 0 ? "hyp2f1_grad_a" : i == 1 ? "hyp2f1_grad_b" : "hyp2f1_grad_c", {p, q, c, x}, i, hyp2f1_by);
  });
}

}  // namespace shardlab::ops
