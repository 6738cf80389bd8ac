// convolve, correlate and polynomials, as jax.numpy lowers them; coefficients start with the highest power.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kCoefficientsMax = 4096;

std::vector<Term> inexact_terms(GraphBuilder& b, Args args) {
  DType dtype = inexact(promoted_dtype(b, args));
  std::vector<Term> terms;
  for (const Arg& arg : args) terms.emplace_back(b, value_of(b, arg, dtype));
  return terms;
}

Term mirrored(const Term& x) { return call("flip", x, Attrs{{"axis", std::int64_t(0)}}); }

// A window slides over x and is multiplied with it: the convolution of networks, on one feature.
Term slid(const Term& x, const Term& window, std::int64_t low, std::int64_t high) {
  Term result = call(x.builder(), "conv", {reshaped(x, {1, 1, x.elements()}), reshaped(window, {1, 1, window.elements()})},
                     Attrs{{"pads", std::vector<std::int64_t>{low, high}}});
  return reshaped(result, {result.elements()});
}

Term convolved(const Term& x, const Term& y) {
  const Term &longer = x.elements() < y.elements() ? y : x, &shorter = x.elements() < y.elements() ? x : y;
  return slid(longer, mirrored(shorter), shorter.elements() - 1, shorter.elements() - 1);
}

template <bool kCorrelate>
Values expand_convolve(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = inexact_terms(b, args);
  Term x = both[0], y = both[1];
  if (x.rank() != 1 || y.rank() != 1)
    throw_user_error("{}() only support 1-dimensional inputs, got {} and {}", op.name, x.text(), y.text());
  if (x.elements() == 0 || y.elements() == 0)
    throw_user_error("{}: inputs cannot be empty, got shapes {} and {}", op.name, x.text(), y.text());
  std::string mode = attrs.has("mode") ? attrs.string("mode") : kCorrelate ? "valid" : "full";
  bool is_mirrored = false;
  if (kCorrelate) y = call("conj", y);
  if (x.elements() < y.elements()) {
    std::swap(x, y);
    is_mirrored = kCorrelate;
  }
  if (!kCorrelate) y = mirrored(y);
  std::int64_t n = y.elements(), low = n - 1, high = n - 1;
  if (mode == "valid")
    low = high = 0;
  else if (mode == "same")
    low = n / 2, high = n - n / 2 - 1;
  else if (mode != "full")
    throw_user_error("{}: mode must be one of ['full', 'same', 'valid'], got '{}'", op.name, mode);
  Term result = slid(x, y, low, high);
  return {is_mirrored ? mirrored(result).id() : result.id()};
}

Term coefficients(const OpDef& op, const Term& p) {
  if (p.rank() > 1) throw_user_error("{}: coefficients are a vector, got {}", op.name, p.text());
  if (p.elements() > kCoefficientsMax) throw_user_error("{}: {} coefficients, of at most {}", op.name, p.elements(), kCoefficientsMax);
  return raveled(p);
}

// Horner's rule.
Values expand_polyval(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = promoted_terms(b, args);
  Term p = coefficients(op, both[0]), x = both[1], y = filled_like(x, 0);
  for (std::int64_t i = 0; i < p.elements(); ++i) y = y * x + part(p, 0, i);
  return {y.id()};
}

// The shorter one is added to the end of the longer one, as an update of it.
Term sum_of(const Term& p, const Term& q) {
  if (p.elements() == q.elements()) return p + q;
  const Term &longer = p.elements() < q.elements() ? q : p, &shorter = p.elements() < q.elements() ? p : q;
  std::int64_t ahead = longer.elements() - shorter.elements();
  if (shorter.elements() == 0) return longer;
  GraphBuilder& b = p.builder();
  const std::vector<std::int64_t> window{0}, none;
  return call(b, "scatter_add", {longer, Term(b, filled(b, {DType::kInt32, {1}}, double(ahead))), shorter},
              Attrs{{"update_window_dims", window}, {"collapsed_slice_dims", none}, {"start_index_map", window}});
}

template <bool kSubtract>
Values expand_polyadd(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = promoted_terms(b, args);
  Term p = coefficients(op, both[0]), q = coefficients(op, both[1]);
  return {sum_of(p, kSubtract ? -q : q).id()};
}

Values expand_polymul(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = inexact_terms(b, args);
  Term p = coefficients(op, both[0]), q = coefficients(op, both[1]);
  auto at_least_one = [&](const Term& x) { return x.elements() == 0 ? Term(b, filled(b, {x.dtype(), {1}}, 0.0)) : x; };
  return {convolved(at_least_one(p), at_least_one(q)).id()};
}

// Schoolbook division: each step takes off the leading term.
Values expand_polydiv(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = inexact_terms(b, args);
  Term rest = coefficients(op, both[0]), by = coefficients(op, both[1]);
  std::int64_t n = by.elements(), steps = rest.elements() - n + 1, size = rest.elements();
  if (n == 0) throw_user_error("{}: division by a polynomial without coefficients", op.name);
  if (steps <= 0) return {Term(b, filled(b, {rest.dtype(), {1}}, 0.0)).id(), rest.id()};
  Term lead = part(by, 0, 0);
  std::vector<Term> quotient;
  for (std::int64_t k = 0; k < steps; ++k) {
    Term digit = part(rest, 0, k) / lead;
    quotient.push_back(expanded(digit, 0));
    std::vector<Term> parts;
    if (k > 0) parts.push_back(sliced(rest, 0, 0, k));
    parts.push_back(sliced(rest, 0, k, k + n) - by * digit);
    if (k + n < size) parts.push_back(sliced(rest, 0, k + n, size));
    rest = joined(parts, 0);
  }
  return {joined(quotient, 0).id(), rest.id()};
}

// Products of `order` numbers in a row: what differentiating or integrating so often multiplies or divides by. Turned round once more, so
// that all who use them have one value, which lies in one way: JAX computes it, it is no constant to propagation.
Term falling(GraphBuilder& b, DType dtype, std::int64_t count, std::int64_t order, bool is_integral) {
  std::vector<double> products;
  for (std::int64_t i = 0; i < count; ++i) {
    double product = 1;
    for (std::int64_t j = 0; j < order; ++j) product *= double(is_integral ? std::max<std::int64_t>(1, i - j) : i + order - j);
    products.push_back(product);
  }
  return call("flip", constant_vector(b, dtype, products));
}
std::int64_t order_of(const OpDef& op, const Attrs& attrs) {
  std::int64_t order = attrs.integer("m", 1);
  if (order < 0 || order > kCoefficientsMax) throw_user_error("{}: Order of the operation must be positive; got {}", op.name, order);
  return order;
}

Values expand_polyder(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term p = coefficients(op, as_inexact(term(b, args[0])));
  std::int64_t order = order_of(op, attrs), left = p.elements() - order;
  if (order == 0) return {p.id()};
  if (left <= 0) return {sliced(p, 0, 0, 0).id()};
  return {(sliced(p, 0, 0, left) * falling(b, p.dtype(), left, order, false)).id()};
}

Values expand_polyint(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> terms = inexact_terms(b, args);
  Term p = coefficients(op, terms[0]);
  std::int64_t order = order_of(op, attrs);
  if (order == 0) return {p.id()};
  Term constants(b, filled(b, {p.dtype(), {order}}, 0.0));
  if (terms.size() > 1) {
    constants = raveled(terms[1]);
    if (constants.elements() == 1) constants = broadcast(reshaped(constants, {}), {order});
    if (constants.elements() != order) throw_user_error("{}: k must be a scalar or a rank-1 array of length 1 or {}", op.name, order);
  }
  return {(joined({p, constants}, 0) / falling(b, p.dtype(), p.elements() + order, order, true)).id()};
}

// The monic polynomial with given zeros: a product of x - zero.
Values expand_poly(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term zeros = coefficients(op, as_inexact(term(b, args[0])));
  Term one(b, filled(b, {zeros.dtype(), {1}}, 1.0)), p = one;
  for (std::int64_t k = 0; k < zeros.elements(); ++k) p = convolved(p, joined({one, expanded(-part(zeros, 0, k), 0)}, 0));
  return {p.id()};
}

Values expand_vander(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  if (x.rank() != 1) throw_user_error("{}: x must be a one-dimensional array, got {}", op.name, x.text());
  std::int64_t n = static_integer(op, args, 1, attrs, "N", x.elements());
  if (n < 0) throw_user_error("{}: N must be nonnegative, got {}", op.name, n);
  check_shape(op.name, {x.elements(), n});
  Term powers = numbers(b, x.dtype(), n);
  if (!attrs.flag("increasing")) powers = call(b, "sub", {n - 1, powers});
  return {call(b, "power", {expanded(x, 1), expanded(powers, 0)}).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kModeAttrs[] = {{"mode", Kind::kString, false, "full, same or valid: full of convolve, valid of correlate by default"}};
constexpr AttrDef kOrderAttrs[] = {{"m", Kind::kInteger, false, "how many times; 1 by default"}};
constexpr AttrDef kIntegralAttrs[] = {kOrderAttrs[0], {"k", kNamedOperand, false, "the constants of integration; 0 by default"}};
constexpr AttrDef kVanderAttrs[] = {{"N", Kind::kInteger, false, "the number of columns, where it is no operand; as rows by default"},
                                    {"increasing", Kind::kFlag, false, "whether powers rise from left to right"}};
constexpr AttrDef kUnrollAttrs[] = {{"unroll", Kind::kInteger, false, "accepted for JAX's sake"}};
constexpr AttrDef kTrimAttrs[] = {{"trim_leading_zeros", Kind::kFlag, false, "accepted where it is false"}};

}  // namespace

extern const OpDef kConvolve, kCorrelate, kPolyval, kPolyadd, kPolysub, kPolymul, kPolydiv, kPolyder, kPolyint, kPoly, kVander;

const OpDef kConvolve =
    compiled_alone(weak_composite_of({"convolve", "The convolution of two vectors.", expand_convolve<false>, 2, 2, kModeAttrs}));
const OpDef kCorrelate =
    compiled_alone(composite_of({"correlate", "The cross-correlation of two vectors.", expand_convolve<true>, 2, 2, kModeAttrs}));
const OpDef kPolyval =
    compiled_alone(composite_of({"polyval", "A polynomial's values: args [coefficients, x].", expand_polyval, 2, 2, kUnrollAttrs}));
const OpDef kPolyadd = compiled_alone(composite_of({"polyadd", "The sum of polynomials.", expand_polyadd<false>, 2, 2}));
const OpDef kPolysub = compiled_alone(composite_of({"polysub", "The difference of polynomials.", expand_polyadd<true>, 2, 2}));
const OpDef kPolymul = composite_of({"polymul", "The product of polynomials.", expand_polymul, 2, 2, kTrimAttrs});
const OpDef kPolydiv = composite_of({"polydiv", "The quotient of polynomials, and the remainder.", expand_polydiv, 2, 2, kTrimAttrs});
const OpDef kPolyder = compiled_alone(composite_of({"polyder", "The derivative of a polynomial.", expand_polyder, 1, 1, kOrderAttrs}));
const OpDef kPolyint = compiled_alone(composite_of({"polyint", "The integral of a polynomial.", expand_polyint, 1, 2, kIntegralAttrs}));
const OpDef kPoly = compiled_alone(composite_of({"poly", "The polynomial with given zeros.", expand_poly}));
const OpDef kVander = compiled_alone(
    composite_of({"vander", "Powers of a vector's elements, a row each: args [x] or [x, N].", expand_vander, 1, 2, kVanderAttrs}));

}  // namespace shardlab::ops
