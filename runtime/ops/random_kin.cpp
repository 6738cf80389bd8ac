// lognormal, rayleigh, pareto and other distributions of jax.random that are functions of the plain ones: equal to JAX's numbers.
#include <cmath>

#include "runtime/ops/random_draw.h"

namespace shardlab::ops {
namespace {

constexpr DrawParameter kSigma[] = {{"sigma", 1}};
constexpr DrawParameter kScale[] = {{"scale", 1}};
constexpr DrawParameter kPareto[] = {{"b", 1}};
constexpr DrawParameter kWeibull[] = {{"scale", 1}, {"concentration", 1}};
constexpr DrawParameter kTriangle[] = {{"left", 0}, {"mode", 0.5}, {"right", 1}};
constexpr DrawParameter kMean[] = {{"mean", 1}};
constexpr DrawParameter kP[] = {{"p", 0.5}};
constexpr DrawParameter kLocScale[] = {{"loc", 0}, {"scale", 1}};

Values expand_lognormal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing(b, op, args, attrs, kSigma);
  return {call("exp", draw.drawn("random.normal") * draw.parameters[0]).id()};
}
Values expand_rayleigh(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing(b, op, args, attrs, kScale);
  return {(draw.parameters[0] * call("sqrt", call("log", draw.uniform()) * -2.0)).id()};
}
Values expand_pareto(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing(b, op, args, attrs, kPareto);
  return {call("exp", draw.drawn("random.exponential") / draw.parameters[0]).id()};
}
// Without a shape one number is drawn for all parameters, as in JAX.
Values expand_weibull(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing_apart(b, op, args, attrs, kWeibull);
  Term power = call(b, "power", {-call("log1p", -draw.uniform()), call("reciprocal", draw.parameters[1])});
  return {(power * draw.parameters[0]).id()};
}

// The length of a vector of three normal numbers.
Term maxwell(const Draw& draw) {
  Shape wide = draw.shape;
  wide.push_back(3);
  Term x = draw.drawn("random.normal", draw.key, wide);
  return call("sqrt", summed(x * x, {std::int64_t(draw.shape.size())}));
}
Values expand_maxwell(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {maxwell(drawing(b, op, args, attrs, {})).id()};
}
// Of the shape, or the parameters' own, before that of the parameters, as in JAX.
Values expand_double_sided_maxwell(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing_apart(b, op, args, attrs, kLocScale);
  const Shape own = draw.shape_of_parameters(op.name);
  if (draw.shape.empty()) draw.shape = own;
  draw.shape.insert(draw.shape.end(), own.begin(), own.end());
  Term size = maxwell(draw.with_key(draw.child(0)));
  Term coin = converted(draw.with_key(draw.child(1)).uniform() < 0.5, draw.dtype);
  return {((2.0 * coin - 1.0) * size * draw.parameters[1] + draw.parameters[0]).id()};
}

Values expand_triangular(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing(b, op, args, attrs, kTriangle);
  const Term &left = draw.parameters[0], &mode = draw.parameters[1], &right = draw.parameters[2];
  Term u = draw.uniform(), width = right - left;
  Term rising = left + call("sqrt", u * width * (mode - left)), falling = right - call("sqrt", (1.0 - u) * width * (right - mode));
  return {where(u < (mode - left) / width, rising, falling).id()};
}

// Source: Michael, Schucany and Haas, "Generating random variates using transformations with multiple roots".
Values expand_wald(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = drawing(b, op, args, attrs, kMean);
  const Term& mean = draw.parameters[0];
  Term v = draw.drawn("random.normal", draw.child(0), draw.shape), z = draw.with_key(draw.child(1)).uniform();
  Term y = v * v, squared = mean * mean;
  Term root = call("sqrt", 4.0 * mean * y + squared * (y * y));
  Term x = mean + squared * y / 2.0 - mean / 2.0 * root;
  return {where(z <= mean / (mean + x), x, squared / x).id()};
}

Values expand_geometric(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing_whole(b, op, args, attrs, kP);
  const Term u = draw.uniform();
  const Term trials = call("floor", call("log", where(u == 0.0, 1.0, u)) / call("log1p", -draw.parameters[0])) + 1.0;
  return {converted(trials, dtype_or(b, attrs, WeakKind::kInteger)).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kShape = kDrawShape, kFloat = kDrawFloat;
constexpr AttrDef number(std::string_view name, std::string_view doc) { return {name, Kind::kNumber, false, doc}; }
constexpr AttrDef kMaxwellAttrs[] = {kShape, kFloat};
constexpr AttrDef kSigmaAttrs[] = {kShape, kFloat, number("sigma", "the spread of the logarithm; 1 by default")};
constexpr AttrDef kScaleAttrs[] = {kShape, kFloat, number("scale", "the scale; 1 by default")};
constexpr AttrDef kParetoAttrs[] = {kShape, kFloat, number("b", "the exponent; 1 by default")};
constexpr AttrDef kScalarShape = {"shape", Kind::kScalarOrIntegers, false, "of what is drawn for the parameters; a scalar by default"};
constexpr AttrDef kLeadingShape = {"shape", Kind::kScalarOrIntegers, false,
                                   "what stands before the parameters' own in the result's shape; that one by default"};
constexpr AttrDef kWeibullAttrs[] = {kScalarShape, kFloat, number("scale", "the scale; 1 by default"),
                                     number("concentration", "the exponent; 1 by default")};
constexpr AttrDef kTriangleAttrs[] = {kShape, kFloat, number("left", "the lower end; 0 by default"),
                                      number("mode", "the likeliest; a half by default"), number("right", "the upper end; 1 by default")};
constexpr AttrDef kMeanAttrs[] = {kShape, kFloat, number("mean", "the mean; 1 by default")};
constexpr AttrDef kPAttrs[] = {
    kShape, {"dtype", Kind::kDType, false, "int32 by default"}, number("p", "the chance of each trial; a half by default")};
constexpr AttrDef kLocScaleAttrs[] = {kLeadingShape, kFloat, number("loc", "the middle; 0 by default"),
                                      number("scale", "the scale; 1 by default")};

}  // namespace

extern const OpDef kRandomLognormal, kRandomRayleigh, kRandomPareto, kRandomWeibullMin, kRandomMaxwell, kRandomDoubleSidedMaxwell,
    kRandomTriangular, kRandomWald, kRandomGeometric;

const OpDef kRandomLognormal =
    composite_of({"random.lognormal", "Numbers whose logarithms are normal: args key, sigma.", expand_lognormal, 1, 2, kSigmaAttrs});
const OpDef kRandomRayleigh =
    composite_of({"random.rayleigh", "Rayleigh's distribution: args key, scale.", expand_rayleigh, 1, 2, kScaleAttrs});
const OpDef kRandomPareto = composite_of({"random.pareto", "Pareto's distribution: args key, b.", expand_pareto, 1, 2, kParetoAttrs});
const OpDef kRandomWeibullMin =
    composite_of({"random.weibull_min", "Weibull's distribution: args key, scale, concentration.", expand_weibull, 1, 3, kWeibullAttrs});
const OpDef kRandomMaxwell = composite_of({"random.maxwell", "Maxwell's distribution: args key.", expand_maxwell, 1, 1, kMaxwellAttrs});
const OpDef kRandomDoubleSidedMaxwell =
    composite_of({"random.double_sided_maxwell", "Maxwell's distribution with random signs: args key, loc, scale.",
                  expand_double_sided_maxwell, 1, 3, kLocScaleAttrs});
const OpDef kRandomTriangular = composite_of(
    {"random.triangular", "The triangular distribution: args key, left, mode, right.", expand_triangular, 1, 4, kTriangleAttrs});
const OpDef kRandomWald = composite_of({"random.wald", "Wald's distribution: args key, mean.", expand_wald, 1, 2, kMeanAttrs});
const OpDef kRandomGeometric =
    composite_of({"random.geometric", "How many trials until the first success: args key, p.", expand_geometric, 1, 2, kPAttrs});

}  // namespace shardlab::ops
