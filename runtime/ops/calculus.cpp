// trapezoid, gradient, interp, unwrap, cross, cov and corrcoef, as jax.numpy lowers them.
#include <cmath>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

Term moved_last(const Term& x, int axis) {
  return call("moveaxis", x, Attrs{{"source", std::int64_t(axis)}, {"destination", std::int64_t(-1)}});
}

std::vector<Term> inexact_terms(GraphBuilder& b, Args args) {
  DType dtype = inexact(promoted_dtype(b, args));
  std::vector<Term> terms;
  for (const Arg& arg : args) terms.emplace_back(b, value_of(b, arg, dtype));
  return terms;
}

Values expand_trapezoid(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> terms = inexact_terms(b, args);
  Term y = terms[0];
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), y.rank()), last = y.rank() - 1;
  y = moved_last(y, axis);
  std::int64_t n = y.size(last);
  auto by_ends = [&] { return summed(y, {last}) - 0.5 * (part(y, last, 0) + part(y, last, n - 1)); };
  if (terms.size() < 2) {
    double dx = attrs.has("dx") ? attrs.number("dx") : 1;
    if (n == 0) return {(summed(y, {last}) * dx).id()};
    return {(dx * by_ends()).id()};
  }
  Term x = terms[1];
  if (x.rank() > 1) x = moved_last(x, normalized_axis(op.name, axis, x.rank()));
  if (x.rank() == 0 || x.size(-1) != n)
    throw_user_error("{}: x must have as many elements along the axis as y, got {} and {}", op.name, x.text(), y.text());
  auto after = [&](const Term& t) { return sliced(t, t.rank() - 1, std::min<std::int64_t>(1, n), n); };
  auto before = [&](const Term& t) { return sliced(t, t.rank() - 1, 0, std::max<std::int64_t>(0, n - 1)); };
  if (n == 2) {
    Term ends = by_ends(), dx = after(x) - before(x);
    return {(part(dx, dx.rank() - 1, 0) * ends).id()};
  }
  Term sums = after(y) + before(y), dx = after(x) - before(x);  // y first, as it is the first operand (docs/decisions/0043)
  return {(0.5 * summed(dx * sums, {last})).id()};
}

// Central differences inside, one-sided ones at the ends; `spacing` is the distance of neighbours, or their coordinates.
Term gradient_along(const OpDef& op, const Term& x, int axis, const std::optional<Term>& spacing) {
  std::int64_t n = x.size(axis);
  if (n < 2)
    throw_user_error("{}: Shape of array too small to calculate a numerical gradient, at least 2 elements are required, got {}", op.name,
                     x.text());
  auto cut = [&](const Term& t, int dim, std::int64_t start, std::int64_t stop) { return sliced(t, dim, start, stop); };
  Term first = cut(x, axis, 1, 2) - cut(x, axis, 0, 1), last = cut(x, axis, n - 1, n) - cut(x, axis, n - 2, n - 1);
  bool is_even = !spacing || spacing->rank() == 0;
  std::vector<Term> parts;
  if (is_even) {
    auto scaled = [&](const Term& t) { return spacing ? t / *spacing : t; };
    parts.push_back(scaled(first));
    if (n > 2) parts.push_back(scaled((cut(x, axis, 2, n) - cut(x, axis, 0, n - 2)) * 0.5));
    parts.push_back(scaled(last));
    return joined(parts, axis);
  }
  if (spacing->rank() != 1 || spacing->elements() != n)
    throw_user_error("{}: the spacing of an axis must be a scalar or its coordinates, {} of them; got {}", op.name, n, spacing->text());
  Shape along(std::size_t(x.rank()), 1);
  auto shaped = [&](const Term& t) {
    Shape shape = along;
    shape[std::size_t(axis)] = t.elements();
    return reshaped(t, shape);
  };
  auto step = [&](std::int64_t i) { return shaped(cut(*spacing, 0, i + 1, i + 2) - cut(*spacing, 0, i, i + 1)); };
  parts.push_back(first / step(0));
  if (n > 2) {
    Term left = shaped(cut(*spacing, 0, 1, n - 1) - cut(*spacing, 0, 0, n - 2)),
         right = shaped(cut(*spacing, 0, 2, n) - cut(*spacing, 0, 1, n - 1));
    Term sum = left + right;
    parts.push_back(-right / (left * sum) * cut(x, axis, 0, n - 2) + (right - left) / (left * right) * cut(x, axis, 1, n - 1) +
                    left / (right * sum) * cut(x, axis, 2, n));
  }
  parts.push_back(last / step(n - 2));
  return joined(parts, axis);
}

Values expand_gradient(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> terms = inexact_terms(b, args);
  Term x = terms[0];
  std::vector<int> axes;
  if (auto given = axes_of(op.name, attrs, "axis", x.rank()))
    axes = *given;
  else
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  if (terms.size() > 2 && terms.size() != axes.size() + 1)
    throw_user_error("{}: Invalid number of spacing arguments {} for axis={}", op.name, terms.size() - 1,
                     text_of(Shape(axes.begin(), axes.end())));
  Values results;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::optional<Term> spacing;
    if (terms.size() > 1) spacing = terms[terms.size() == 2 ? 1 : i + 1];
    results.push_back(gradient_along(op, x, axes[i], spacing).id());
  }
  return results;
}

// Between the neighbours of each x in the sorted xp; beyond them the ends, or `left` and `right`; with `period` all the way round.
Values expand_interp(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> terms = inexact_terms(b, args.first(3));
  Term x = terms[0], xp = terms[1], fp = terms[2];
  if (xp.rank() != 1 || fp.shape() != xp.shape() || xp.elements() == 0)
    throw_user_error("{}: xp and fp must be one-dimensional arrays of equal size, got {} and {}", op.name, xp.text(), fp.text());
  bool is_periodic = attrs.has("period");
  if (is_periodic) {
    double period = attrs.number("period");
    if (period == 0) throw_user_error("{}: period must be a non-zero value; got {}", op.name, period);
    period = std::abs(period);
    x = call(b, "remainder", {x, period});
    std::vector<Term> sorted = call_all(b, "sort", {call(b, "remainder", {xp, period}), fp}, Attrs{{"axis", std::int64_t(0)}});
    std::int64_t n = xp.elements();
    xp = joined({sliced(sorted[0], 0, n - 1, n) - period, sorted[0], sliced(sorted[0], 0, 0, 1) + period}, 0);
    fp = joined({sliced(sorted[1], 0, n - 1, n), sorted[1], sliced(sorted[1], 0, 0, 1)}, 0);
  }
  std::int64_t n = xp.elements();
  Term found = call(b, "searchsorted", {xp, x}, Attrs{{"side", std::string("right")}});
  Term i = call(b, "clip", {found, 1, n - 1}), before = i - 1;
  if (n == 1) i = before = filled_like(i, 0);
  Term low = taken(fp, before, 0), df = taken(fp, i, 0) - low, start = taken(xp, before, 0), dx = taken(xp, i, 0) - start;
  double epsilon = std::ldexp(1.0, xp.dtype() == DType::kFloat64    ? -52
                                   : xp.dtype() == DType::kBfloat16 ? -7
                                   : xp.dtype() == DType::kFloat16  ? -10
                                                                    : -23);
  double least = epsilon * epsilon;  // the distance of numbers next to the smallest step from 1, as in JAX
  Term is_same = call("abs", dx) <= least;
  Term result = where(is_same, low, low + (x - start) / where(is_same, 1.0, dx) * df);
  if (is_periodic) return {result.id()};
  auto end = [&](std::string_view name, std::int64_t at) -> Item {
    if (attrs.has(name)) return attrs.number(name);
    return part(fp, 0, at);
  };
  result = where(x < part(xp, 0, 0), end("left", 0), result);
  return {where(x > part(xp, 0, n - 1), end("right", n - 1), result).id()};
}

// Steps of more than half a period become the smallest that lead to the same place.
Values expand_unwrap(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = as_inexact_beside(term(b, args[0]), WeakKind::kReal);
  if (is_complex(x.dtype())) throw_user_error("{} does not support complex inputs.", op.name);
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), x.rank());
  std::int64_t n = x.size(axis);
  if (n == 0) return {x.id()};
  double period = attrs.has("period") ? attrs.number("period") : 2 * M_PI,
         discont = attrs.has("discont") ? attrs.number("discont") : period / 2;
  double half = period / 2;
  Term step = sliced(x, axis, 1, n) - sliced(x, axis, 0, n - 1);
  Term small = call(b, "remainder", {step + half, period}) - half;
  small = where((small == -half) & (step > 0.0), half, small);
  Term correction = where(call("abs", step) < discont, 0.0, small - step);
  Term rest = sliced(x, axis, 1, n) + call("cumsum", correction, Attrs{{"axis", std::int64_t(axis)}});
  return {joined({sliced(x, axis, 0, 1), rest}, axis).id()};
}

Values expand_cross(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  auto axis_of = [&](std::string_view name) { return attrs.integer("axis", attrs.integer(name, -1)); };
  Term x = moved_last(both[0], normalized_axis(op.name, axis_of("axisa"), both[0].rank()));
  Term y = moved_last(both[1], normalized_axis(op.name, axis_of("axisb"), both[1].rank()));
  std::int64_t n = x.size(-1), m = y.size(-1);
  if ((n != 2 && n != 3) || (m != 2 && m != 3))
    throw_user_error("{}: Dimension must be either 2 or 3 for cross product, got {} and {}", op.name, both[0].text(), both[1].text());
  auto at = [](const Term& t, std::int64_t i) { return part(t, t.rank() - 1, i); };
  if (n == 2 && m == 2) return {(at(x, 0) * at(y, 1) - at(x, 1) * at(y, 0)).id()};
  auto component = [&](const Term& t, std::int64_t i) { return i < t.size(-1) ? at(t, i) : filled_like(at(t, 0), 0); };
  Term x0 = at(x, 0), x1 = at(x, 1), x2 = component(x, 2), y0 = at(y, 0), y1 = at(y, 1), y2 = component(y, 2);
  Term result = stacked({x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0}, 0);
  return {call("moveaxis", result, Attrs{{"source", std::int64_t(0)}, {"destination", axis_of("axisc")}}).id()};
}

// Variables in rows, observations in columns.
Term covariance(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::optional<Arg> f = named_operand(op, args, attrs, "fweights"), a = named_operand(op, args, attrs, "aweights");
  std::vector<Arg> given;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (!(f && attrs.integer("fweights") == std::int64_t(i)) && !(a && attrs.integer("aweights") == std::int64_t(i)))
      given.push_back(args[i]);
  if (given.empty() || given.size() > 2) throw_user_error("{}: takes one or two arrays, got {}", op.name, given.size());
  std::vector<Term> terms = inexact_terms(b, given);
  bool rowvar = attrs.flag("rowvar", true);
  auto rows = [&](Term x) {
    if (x.rank() > 2) throw_user_error("{}: m has more than 2 dimensions: {}", op.name, x.text());
    while (x.rank() < 2) x = expanded(x, 0);
    return rowvar || x.size(0) == 1 ? x : transposed(x, {1, 0});
  };
  Term x = rows(terms[0]);
  if (terms.size() == 2) {
    Term y = rows(terms[1]);
    if (y.size(1) != x.size(1)) throw_user_error("{}: the arrays have {} and {} observations", op.name, x.size(1), y.size(1));
    x = joined({x, y}, 0);
  }
  std::int64_t ddof = attrs.integer("ddof", attrs.flag("bias") ? 0 : 1), n = x.size(1);
  if (ddof < -kElementsMax || ddof > kElementsMax) throw_user_error("{}: ddof is {}, wanted a small whole number", op.name, ddof);
  std::optional<Term> weights;
  for (const auto& each : {f, a}) {
    if (!each) continue;
    Term w(b, value_of(b, *each, x.dtype()));
    if (w.rank() != 1 || w.elements() != n)
      throw_user_error("{}: weights must be {} numbers, one for each observation; got {}", op.name, n, w.text());
    weights = weights ? *weights * w : w;
  }
  if (!weights) {
    Term centered = x - summed(x, {1}, true) / double(n);
    Term other = transposed(is_complex(x.dtype()) ? call("conj", centered) : centered, {1, 0});
    return call(b, "matmul", {centered, other}) / double(n - ddof);
  }
  Term total = summed(*weights, {0});
  Term centered = x - expanded(summed(x * expanded(*weights, 0), {1}) / total, 1);
  Term divisor = total - double(ddof);
  if (a) divisor = total - double(ddof) * summed(*weights * Term(b, value_of(b, *a, x.dtype())), {0}) / total;
  Term other = transposed(centered * expanded(*weights, 0), {1, 0});
  return call(b, "matmul", {centered, is_complex(x.dtype()) ? call("conj", other) : other}) / divisor;
}
Term squeezed_matrix(const Term& c) { return c.elements() == 1 ? reshaped(c, {}) : c; }

Values expand_cov(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {squeezed_matrix(covariance(b, op, args, attrs)).id()};
}

Values expand_corrcoef(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term c = covariance(b, op, args, attrs);
  if (c.elements() == 1) return {squeezed_matrix(c / c).id()};
  Term deviation = call("sqrt", call("real", call("diagonal", c)));
  Term result = c / expanded(deviation, 1) / expanded(deviation, 0);
  if (is_complex(c.dtype())) return {result.id()};
  return {call(b, "clip", {result, -1.0, 1.0}).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kTrapezoidAttrs[] = {{"dx", Kind::kNumber, false, "the distance of neighbours, without x; 1 by default"},
                                       {"axis", Kind::kInteger, false, "along which; the last by default"}};
constexpr AttrDef kGradientAttrs[] = {{"axis", Kind::kScalarOrIntegers, false, "along which, a result each; all by default"}};
constexpr AttrDef kInterpAttrs[] = {{"left", Kind::kNumber, false, "what stands below the least xp; its fp by default"},
                                    {"right", Kind::kNumber, false, "what stands above the greatest; its fp by default"},
                                    {"period", Kind::kNumber, false, "after which coordinates repeat"}};
constexpr AttrDef kUnwrapAttrs[] = {{"discont", Kind::kNumber, false, "the greatest step that stays; half a period by default"},
                                    {"axis", Kind::kInteger, false, "along which; the last by default"},
                                    {"period", Kind::kNumber, false, "2 pi by default"}};
constexpr AttrDef kCrossAttrs[] = {{"axisa", Kind::kInteger, false, "the vectors' dimension in x; the last by default"},
                                   {"axisb", Kind::kInteger, false, "in y"},
                                   {"axisc", Kind::kInteger, false, "in the result"},
                                   {"axis", Kind::kInteger, false, "all three"}};
constexpr AttrDef kRowvar = {"rowvar", Kind::kFlag, false, "whether rows are the variables; true by default"};
constexpr AttrDef kCovAttrs[] = {kRowvar,
                                 {"bias", Kind::kFlag, false, "whether the divisor is the count, not one less"},
                                 {"ddof", Kind::kInteger, false, "taken from the count"},
                                 {"fweights", kNamedOperand, false, "how often each observation was made"},
                                 {"aweights", kNamedOperand, false, "how much each observation counts"}};
constexpr AttrDef kCorrAttrs[] = {kRowvar};

}  // namespace

extern const OpDef kTrapezoid, kGradient, kInterp, kUnwrap, kCross, kCov, kCorrcoef;

const OpDef kTrapezoid = compiled_alone(
    composite_of({"trapezoid", "The integral along an axis by trapezoids: args [y] or [y, x].", expand_trapezoid, 1, 2, kTrapezoidAttrs}));
const OpDef kGradient = compiled_alone(
    weak_composite_of({"gradient", "Central differences along axes, each a result: args [x], [x, spacing] or [x, one for each axis].",
                       expand_gradient, 1, -1, kGradientAttrs}));
const OpDef kInterp = compiled_alone(
    weak_composite_of({"interp", "Linear between points: args [x, xp, fp], xp in ascending order.", expand_interp, 3, 3, kInterpAttrs}));
const OpDef kUnwrap = compiled_alone(composite_of({"unwrap", "Angles without jumps of whole periods.", expand_unwrap, 1, 1, kUnwrapAttrs}));
const OpDef kCross =
    compiled_alone(composite_of({"cross", "The cross product of vectors of 2 or 3 elements.", expand_cross, 2, 2, kCrossAttrs}));
const OpDef kCov = compiled_alone(composite_of({"cov", "The covariance of variables: args [m] or [m, y].", expand_cov, 1, 4, kCovAttrs}));
const OpDef kCorrcoef = compiled_alone(
    composite_of({"corrcoef", "Correlation coefficients of variables: args [x] or [x, y].", expand_corrcoef, 1, 2, kCorrAttrs}));

}  // namespace shardlab::ops
