// beta, dirichlet, chisquare, t, f, generalized_normal, ball: distributions made of gamma's; equal to JAX's.
#include "runtime/ops/random_draw.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr DrawParameter kAB[] = {{"a", {}}, {"b", {}}};
constexpr DrawParameter kDf[] = {{"df", {}}};
constexpr DrawParameter kDfs[] = {{"dfnum", {}}, {"dfden", {}}};
constexpr DrawParameter kP[] = {{"p", {}}};

// gamma or loggamma with the parameters a, in their shape.
Term gamma(std::string_view op, const Draw& draw, const Term& key, const Term& a) {
  return call(draw.b, op, {key, a}, Attrs{{"shape", a.shape()}, {"dtype", draw.dtype}});
}

Values expand_beta(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kAB);
  const Term first = gamma("random.loggamma", draw, draw.child(0), draw.parameters[0]);
  const Term second = gamma("random.loggamma", draw, draw.child(1), draw.parameters[1]);
  const Term top = call(b, "maximum", {first, second}), share = call("exp", first - top);
  return {(share / (share + call("exp", second - top))).id()};
}

// Shares that sum to 1; parameters are the last dimension.
Values expand_dirichlet(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  if (!is_floating(dtype)) throw_user_error("dtype argument to `dirichlet` must be a float dtype, got {}", name_of(dtype));
  const Term alpha(b, value_of(b, args[1], dtype));
  if (alpha.rank() < 1) throw_user_error("dirichlet requires alpha.ndim >= 1, got alpha.ndim == {}", alpha.rank());
  Shape own = alpha.shape();
  own.pop_back();
  Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : own;
  check_shape(op.name, shape);
  check_broadcasts_to(op.name, own, shape);
  shape.push_back(alpha.size(-1));
  return {call("softmax", call(b, "random.loggamma", {term(b, args[0]), alpha}, Attrs{{"shape", shape}, {"dtype", dtype}})).id()};
}

Term chisquare(const Draw& draw, const Term& key, const Term& df) {
  return call("exp", gamma("random.loggamma", draw, key, df / 2.0)) * 2.0;
}
Values expand_chisquare(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kDf);
  return {chisquare(draw, draw.key, draw.parameters[0]).id()};
}
Values expand_f(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kDfs);
  const Term &over = draw.parameters[0], &under = draw.parameters[1];
  return {((chisquare(draw, draw.child(1), over) / over) / (chisquare(draw, draw.child(0), under) / under)).id()};
}

Values expand_t(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kDf);
  const Term half = draw.parameters[0] / 2.0, normal = draw.drawn("random.normal", draw.child(0), draw.shape);
  return {(normal * call("sqrt", half / gamma("random.gamma", draw, draw.child(1), half))).id()};
}

Term generalized_normal(const Draw& draw, const Term& key, const Term& p, const Shape& shape) {
  const Draw from = draw.with_key(key);
  const Term inverse = 1.0 / p, size = gamma("random.gamma", draw, from.child(0), broadcast(inverse, shape));
  return draw.drawn("random.rademacher", from.child(1), shape) * call(draw.b, "power", {size, inverse});
}
Values expand_generalized_normal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kP);
  return {generalized_normal(draw, draw.key, draw.parameters[0], draw.shape).id()};
}

// Source: Barthe et al., "A probabilistic approach to the geometry of the l_p^n-ball" (math/0503650).
Values expand_ball(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::int64_t d = static_integer(op, args, 1, attrs, "d");
  const double power = static_number(op, args, 2, attrs, "p", 2);
  const Draw draw = drawing(b, op, args.first(1), attrs, {});
  const Term p(b, scalar_constant(b, draw.dtype, power));
  Shape shape = draw.shape;
  shape.push_back(d);
  check_shape(op.name, shape);
  const Term g = generalized_normal(draw, draw.child(0), p, shape), e = draw.drawn("random.exponential", draw.child(1), draw.shape);
  const Term sum = summed(call(b, "power", {call("abs", g), p}), {std::int64_t(draw.shape.size())}) + e;
  return {(g / expanded(call(b, "power", {sum, 1.0 / p}), sum.rank())).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef number(std::string_view name) { return {name, Kind::kNumber, false, "the parameter, where it is no operand"}; }
constexpr AttrDef kABAttrs[] = {kDrawShape, kDrawFloat, number("a"), number("b")};
constexpr AttrDef kShapeAttrs[] = {kDrawShape, kDrawFloat};
constexpr AttrDef kDfAttrs[] = {kDrawShape, kDrawFloat, number("df")};
constexpr AttrDef kDfsAttrs[] = {kDrawShape, kDrawFloat, number("dfnum"), number("dfden")};
constexpr AttrDef kPAttrs[] = {kDrawShape, kDrawFloat, number("p")};
constexpr AttrDef kBallAttrs[] = {{"d", Kind::kInteger, false, "the dimensions, where they are no operand"},
                                  {"p", Kind::kNumber, false, "the norm's power; 2 by default"},
                                  {"shape", Kind::kScalarOrIntegers, false, "how many points; one by default"},
                                  kDrawFloat};

}  // namespace

extern const OpDef kRandomBeta, kRandomDirichlet, kRandomChisquare, kRandomF, kRandomT, kRandomGeneralizedNormal, kRandomBall;

const OpDef kRandomBeta = composite_of({"random.beta", "The beta distribution: args key, a, b.", expand_beta, 1, 3, kABAttrs});
const OpDef kRandomDirichlet = composite_of(
    {"random.dirichlet", "Dirichlet's distribution, along the last dimension: args key, alpha.", expand_dirichlet, 2, 2, kShapeAttrs});
const OpDef kRandomChisquare =
    composite_of({"random.chisquare", "The chi-squared distribution: args key, df.", expand_chisquare, 1, 2, kDfAttrs});
const OpDef kRandomF = composite_of({"random.f", "Fisher's F distribution: args key, dfnum, dfden.", expand_f, 1, 3, kDfsAttrs});
const OpDef kRandomT = composite_of({"random.t", "Student's t distribution: args key, df.", expand_t, 1, 2, kDfAttrs});
const OpDef kRandomGeneralizedNormal = composite_of(
    {"random.generalized_normal", "The generalized normal distribution: args key, p.", expand_generalized_normal, 1, 2, kPAttrs});
const OpDef kRandomBall =
    composite_of({"random.ball", "Points of the unit ball of d dimensions: args key, d, p.", expand_ball, 1, 3, kBallAttrs});

}  // namespace shardlab::ops
