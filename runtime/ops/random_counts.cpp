// poisson, binomial, multinomial: counts, drawn again until all are accepted as JAX draws them; equal to JAX's.
#include <array>
#include <cmath>
#include <limits>

#include "runtime/ops/loops.h"
#include "runtime/ops/random_draw.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr DrawParameter kLam[] = {{"lam", {}}};
constexpr DrawParameter kNP[] = {{"n", {}}, {"p", {}}};

Term log(const Term& x) { return call("log", x); }
Term any(const Term& x) { return call("any", x); }
Term child(const Term& key, std::int64_t index, std::int64_t num) {
  return call("random.child", key, Attrs{{"index", index}, {"num", num}});
}
Term uniform_like(const Term& x, const Term& key) {
  return call(x.builder(), "random.uniform", {key}, Attrs{{"shape", x.shape()}, {"dtype", x.dtype()}});
}

// Candidates until each place has accepted one; a place may take later ones, too. `candidate`: from two uniform numbers and the constants
// a candidate and whether it is accepted.
Term accepted(const Term& key, const Terms& constants,
              const std::function<std::pair<Term, Term>(const Terms&, const Term&, const Term&)>& candidate) {
  const Terms init{filled_like(constants[0], -1), call("zeros_like", constants[0], Attrs{{"dtype", DType::kBool}}), key};
  return repeated_while(
      constants, init, [](const Terms&, const Terms& carry) { return any(!carry[1]); },
      [&](const Terms& given, const Terms& carry) {
        const Term u = uniform_like(carry[0], child(carry[2], 1, 3)), v = uniform_like(carry[0], child(carry[2], 2, 3));
        const auto [k, is_accepted] = candidate(given, u - 0.5, v);
        return Terms{where(is_accepted, k, carry[0]), carry[1] | is_accepted, child(carry[2], 0, 3)};
      })[0];
}

// Source: Knuth, The Art of Computer Programming 2, 3.4.1.
Term poisson_of_products(const Term& key, const Term& lam, DType dtype) {
  const Terms init{call("zeros_like", lam, Attrs{{"dtype", dtype}}), filled_like(lam, 0), key};
  const Term count = repeated_while(
      {lam}, init, [](const Terms& given, const Terms& carry) { return any(carry[1] > -given[0]); },
      [](const Terms& given, const Terms& carry) {
        const Term is_on = carry[1] > -given[0];
        return Terms{where(is_on, carry[0] + 1, carry[0]), carry[1] + log(uniform_like(carry[1], child(carry[2], 1, 2))),
                     child(carry[2], 0, 2)};
      })[0];
  return count - 1;
}

// Source: Hormann, "The transformed rejection method for generating Poisson random variables" (1993).
Term poisson_by_rejection(const Term& key, const Term& lam) {
  return accepted(key, {lam}, [](const Terms& given, const Term& u, const Term& v) {
    const Term &rate = given[0], b = 0.931 + 2.53 * call("sqrt", rate), a = -0.059 + 0.02483 * b;
    const Term inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2.0), shifted = 0.5 - call("abs", u);
    const Term k = call("floor", (2.0 * a / shifted + b) * u + rate + 0.43);
    const Term s = log(v * inverse_alpha / (a / (shifted * shifted) + b)), t = -rate + k * log(rate) - call("lgamma", k + 1.0);
    const Term is_refused = (k < 0.0) | ((shifted < 0.013) & (v > shifted));
    return std::pair(k, ((shifted >= 0.07) & (v <= sure)) | ((!is_refused) & (s <= t)));
  });
}

Values expand_poisson(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing_whole(b, op, args, attrs, kLam);
  const DType dtype = dtype_or(b, attrs, WeakKind::kInteger);
  const Term lam = converted(draw.parameters[0], DType::kFloat32), is_small = (lam != lam) | (lam < 10.0);
  const Term few = poisson_of_products(draw.key, where(is_small, lam, 0.0), dtype);
  const Term many = converted(poisson_by_rejection(draw.key, where(is_small, 1e5, lam)), dtype);
  return {where(lam == 0.0, 0, where(is_small, few, many)).id()};
}

// How far Stirling's formula for log(k!) is off.
Term stirling_tail(const Term& x) {
  static constexpr std::array<double, 10> kFirst = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                                    0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                                    0.00925546218271273, 0.00833056343336287};
  const Term k = call(x.builder(), "clip", {x, 0.0, 9.0}), square = (k + 1.0) * (k + 1.0);
  const Term series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0);
  const Term known = taken(constant_vector(x.builder(), x.dtype(), kFirst), converted(call("floor", k), DType::kInt32), 0);
  return where(x <= 9.0, known, series);
}

// Trials up to each success, until they are more than there are.
Term binomial_of_gaps(const Term& key, const Term& count, const Term& p) {
  const Term init = filled_like(p, 0);
  const Term found = repeated_while(
      {count, p}, {init, init, key}, [](const Terms& given, const Terms& carry) { return any(carry[1] <= given[0]); },
      [](const Terms& given, const Terms& carry) {
        const Term gap = call("ceil", log(uniform_like(carry[1], child(carry[2], 0, 2))) / call("log1p", -given[1]));
        return Terms{where(carry[1] <= given[0], carry[0] + 1.0, carry[0]), carry[1] + gap, child(carry[2], 1, 2)};
      })[0];
  return found - 1.0;
}

// Source: Hormann, "The generation of binomial random variates" (1993).
Term binomial_by_rejection(const Term& key, const Term& count, const Term& p) {
  return accepted(key, {count, p}, [](const Terms& given, const Term& u, const Term& v) {
    const Term &n = given[0], &q = given[1], spread = call("sqrt", n * q * (1.0 - q)), b = 1.15 + 2.53 * spread;
    const Term a = -0.0873 + 0.0248 * b + 0.01 * q, odds = q / (1.0 - q), m = call("floor", (n + 1.0) * q), shifted = 0.5 - call("abs", u);
    const Term k = call("floor", (2.0 * a / shifted + b) * u + (n * q + 0.5));
    const Term low = log(v * ((2.83 + 5.1 / b) * spread) / (a / (shifted * shifted) + b));
    const Term high = (m + 0.5) * log((m + 1.0) / (odds * (n - m + 1.0))) + (n + 1.0) * log((n - m + 1.0) / (n - k + 1.0)) +
                      (k + 0.5) * log(odds * (n - k + 1.0) / (k + 1.0)) + stirling_tail(m) + stirling_tail(n - m) - stirling_tail(k) -
                      stirling_tail(n - k);
    const Term is_outside = (k < 0.0) | (k > n);
    return std::pair(k, ((shifted >= 0.07) & (v <= 0.92 - 4.2 / b)) | ((!is_outside) & (low <= high)));
  });
}

// Source: jax.random.binomial, whose results where a parameter has no sense these are, too.
Term binomial(const Term& key, const Term& n, const Term& p, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const Term is_rare = p < 0.5, share = where(is_rare, p, 1.0 - p);
  const Term has_no_count = (n != n) | (n < 0.0), is_endless = n == kInfinity, has_no_share = (share != share) | (share < 0.0);
  const Term q = where(has_no_share, 0.01, share), is_small = has_no_count | (n * q <= 10.0), count = call("floor", n);
  const Term few = binomial_of_gaps(key, where(is_small, count, 0.0), q);
  const Term many = binomial_by_rejection(key, where(is_small, 1e4, count), where(is_small, 0.5, q));
  Term drawn = where(is_small, converted(few, dtype), converted(many, dtype));
  const Term is_senseless = has_no_share | has_no_count;
  drawn = where(is_senseless, kNan, drawn);
  drawn = where(is_endless & !is_senseless, kInfinity, drawn);
  return where(is_rare | has_no_count | (share != share) | is_endless, drawn, converted(count, dtype) - drawn);
}

DType float_dtype(GraphBuilder& b, const OpDef& op, const Attrs& attrs) {
  const DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  if (!is_floating(dtype))
    throw_user_error("dtype argument to `{}` must be a float dtype, got {}", op.name.substr(op.name.find('.') + 1), name_of(dtype));
  return dtype;
}

Values expand_binomial(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kNP);
  return {binomial(draw.key, draw.parameters[0], draw.parameters[1], float_dtype(b, op, attrs)).id()};
}

// Each outcome in turn takes its share of the trials that are left.
Values expand_multinomial(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const DType dtype = float_dtype(b, op, attrs), own = inexact(promoted_dtype(b, args.subspan(1)));
  Term n(b, value_of(b, args[1], own)), p(b, value_of(b, args[2], own));
  Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : p.shape();
  check_shape(op.name, shape);
  check_broadcasts_to(op.name, p.shape(), shape);
  if (shape.empty()) throw_user_error("{}: p needs a dimension of outcomes", op.name);
  p = call("moveaxis", broadcast(p, shape), Attrs{{"source", std::int64_t(-1)}, {"destination", std::int64_t(0)}});
  shape.pop_back();
  check_broadcasts_to(op.name, n.shape(), shape);
  n = broadcast(n, shape);
  const Term left = call("cumsum", p, Attrs{{"axis", std::int64_t(0)}, {"reverse", true}});
  const Term shares = call(b, "clip", {p / where(left == 0.0, 1.0, left), 0.0, 1.0});
  const Term keys = call("random.split", term(b, args[0]), Attrs{{"num", p.size(0)}});
  const Term counts = repeated_over({n}, {shares, keys}, [own](const Terms& carry, const Terms& slices) {
    const Term count = binomial(slices[1], carry[0], slices[0], own);
    return Terms{carry[0] - count, count};
  })[1];
  return {converted(call("moveaxis", counts, Attrs{{"source", std::int64_t(0)}, {"destination", std::int64_t(-1)}}), dtype).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef number(std::string_view name) { return {name, Kind::kNumber, false, "the parameter, where it is no operand"}; }
constexpr AttrDef kPoissonAttrs[] = {kDrawShape, {"dtype", Kind::kDType, false, "int32 by default"}, number("lam")};
constexpr AttrDef kBinomialAttrs[] = {kDrawShape, kDrawFloat, number("n"), number("p")};
constexpr AttrDef kMultinomialAttrs[] = {{"shape", Kind::kScalarOrIntegers, false, "the shape of the result; that of p by default"},
                                         kDrawFloat};

}  // namespace

extern const OpDef kRandomPoisson, kRandomBinomial, kRandomMultinomial;

const OpDef kRandomPoisson =
    composite_of({"random.poisson", "Poisson's distribution: args key, lam.", expand_poisson, 1, 2, kPoissonAttrs});
const OpDef kRandomBinomial =
    composite_of({"random.binomial", "How many of n trials succeed: args key, n, p.", expand_binomial, 1, 3, kBinomialAttrs});
const OpDef kRandomMultinomial =
    composite_of({"random.multinomial", "How many of n trials have each outcome, along the last dimension: args key, n, p.",
                  expand_multinomial, 3, 3, kMultinomialAttrs});

}  // namespace shardlab::ops
