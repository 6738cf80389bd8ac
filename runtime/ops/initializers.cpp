// jax.nn.initializers: weights whose spread depends on how many values are summed, and orthogonal ones; equal to JAX's numbers.
#include <cmath>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

struct Scaling {
  double scale = 1;
  std::string_view mode, distribution;
};
constexpr Scaling kGlorotUniformly{1, "fan_avg", "uniform"}, kGlorotNormally{1, "fan_avg", "truncated_normal"},
    kLecunUniformly{1, "fan_in", "uniform"}, kLecunNormally{1, "fan_in", "truncated_normal"}, kHeUniformly{2, "fan_in", "uniform"},
    kHeNormally{2, "fan_in", "truncated_normal"};

std::vector<std::int64_t> axes_or(const OpDef& op, const Attrs& attrs, std::string_view name, std::vector<std::int64_t> otherwise,
                                  std::int64_t rank) {
  std::vector<std::int64_t> axes = attrs.has(name) ? integer_list_of(attrs, name) : std::move(otherwise);
  for (std::int64_t& axis : axes) axis = normalized_axis(op.name, axis, int(rank));
  return axes;
}

// How many values each result sums, and how many results each value goes to. Source: JAX's _compute_fans.
std::pair<double, double> fans_of(const OpDef& op, const Attrs& attrs, const Shape& shape) {
  const auto rank = std::int64_t(shape.size());
  if (rank <= 1 && !attrs.has("in_axis"))
    throw_user_error(
        "{}: Can't compute input and output sizes of a {}-dimensional weights tensor with default in_axis. Must be at least 2D or specify "
        "in_axis explicitly.",
        op.name, rank);
  auto size_of = [&](std::string_view name, std::vector<std::int64_t> otherwise) {
    double size = 1;
    for (std::int64_t axis : axes_or(op, attrs, name, std::move(otherwise), rank)) size *= double(shape[std::size_t(axis)]);
    return size;
  };
  double elements = 1;
  for (std::int64_t size : shape) elements *= double(size);
  const double in = size_of("in_axis", {-2}), out = size_of("out_axis", {-1});
  const double field = elements / in / out / size_of("batch_axis", {});
  return {in * field, out * field};
}

double denominator_of(const OpDef& op, std::string_view mode, std::pair<double, double> fans) {
  const auto [in, out] = fans;
  if (mode == "fan_in") return in;
  if (mode == "fan_out") return out;
  if (mode == "fan_avg") return (in + out) / 2;
  if (mode == "fan_geo_avg") return std::sqrt(in * out);
  throw_user_error("{}: invalid mode for variance scaling initializer: {}; wanted fan_in, fan_out, fan_avg or fan_geo_avg", op.name, mode);
}

Values scaled(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, const Scaling& scaling) {
  const Shape shape = integer_list_of(attrs, "shape");
  check_shape(op.name, shape);
  const DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  if (!is_floating(dtype)) throw_user_error("{}: weights are real numbers, got dtype {}", op.name, name_of(dtype));
  auto number = [&](double value) { return Term(b, scalar_constant(b, dtype, value)); };
  const Term variance = number(scaling.scale / denominator_of(op, scaling.mode, fans_of(op, attrs, shape)));
  const Attrs drawing{{"shape", shape}, {"dtype", dtype}};
  auto drawn = [&](std::string_view distribution, Attrs more) { return call(b, distribution, {term(b, args[0])}, more); };
  if (scaling.distribution == "uniform") {
    Attrs from = drawing;
    return {(drawn("random.uniform", from.set("minval", -1.0)) * call("sqrt", 3.0 * variance)).id()};
  }
  if (scaling.distribution == "normal") return {(drawn("random.normal", drawing) * call("sqrt", variance)).id()};
  if (scaling.distribution != "truncated_normal")
    throw_user_error("{}: invalid distribution for variance scaling initializer: {}; wanted uniform, normal or truncated_normal", op.name,
                     scaling.distribution);
  // The spread of the normal distribution between -2 and 2.
  constexpr double kTruncated = .87962566103423978;
  const Term spread = call("sqrt", variance) / number(kTruncated);
  return {(call(b, "random.truncated_normal", {term(b, args[0]), -2.0, 2.0}, drawing) * spread).id()};
}

Values expand_scaling(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return scaled(b, op, args, attrs, {attrs.number("scale"), attrs.string("mode"), attrs.string("distribution")});
}
template <const Scaling& scaling>
Values expand_scaled(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return scaled(b, op, args, attrs, scaling);
}

Values expand_orthogonal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Shape shape = integer_list_of(attrs, "shape");
  check_shape(op.name, shape);
  if (shape.size() < 2) throw_user_error("{}: orthogonal initializer requires at least a 2D shape, got {}", op.name, text_of(shape));
  const DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  if (element_count(shape) == 0) return {filled(b, {dtype, shape}, 0.0)};
  const int column = normalized_axis(op.name, attrs.integer("column_axis", -1), int(shape.size()));
  const std::int64_t columns = shape[std::size_t(column)];
  Shape last = shape;
  last.erase(last.begin() + column);
  last.push_back(columns);
  Term q = call(b, "random.orthogonal", {term(b, args[0])}, Attrs{{"n", element_count(shape) / columns}, {"m", columns}, {"dtype", dtype}});
  q = call("moveaxis", reshaped(q, last), Attrs{{"source", std::int64_t(-1)}, {"destination", std::int64_t(column)}});
  return {(Term(b, scalar_constant(b, dtype, attrs.has("scale") ? attrs.number("scale") : 1)) * q).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kShape = {"shape", Kind::kIntegers, true, "the shape of the result"};
constexpr AttrDef kFloat = {"dtype", Kind::kDType, false, "float32 by default"};
constexpr AttrDef kIn = {"in_axis", Kind::kScalarOrIntegers, false, "the dimensions that are summed over; the last but one by default"};
constexpr AttrDef kOut = {"out_axis", Kind::kScalarOrIntegers, false, "the dimensions of results; the last by default"};
constexpr AttrDef kBatch = {"batch_axis", Kind::kScalarOrIntegers, false, "the dimensions of weights of their own; none by default"};
constexpr AttrDef kWeightAttrs[] = {kShape, kFloat, kIn, kOut, kBatch};
constexpr AttrDef kScalingAttrs[] = {{"scale", Kind::kNumber, true, "by what the variance is multiplied"},
                                     {"mode", Kind::kString, true, "fan_in, fan_out, fan_avg or fan_geo_avg: what it is divided by"},
                                     {"distribution", Kind::kString, true, "uniform, normal or truncated_normal"},
                                     kShape,
                                     kFloat,
                                     kIn,
                                     kOut,
                                     kBatch};
constexpr AttrDef kOrthogonalAttrs[] = {kShape,
                                        kFloat,
                                        {"scale", Kind::kNumber, false, "by what the result is multiplied; 1 by default"},
                                        {"column_axis", Kind::kInteger, false, "the dimension of columns; the last by default"}};

}  // namespace

extern const OpDef kVarianceScaling, kGlorotUniform, kGlorotNormal, kLecunUniform, kLecunNormal, kHeUniform, kHeNormal,
    kOrthogonalInitializer;

constexpr std::string_view kXavierUniform[] = {"initializers.xavier_uniform"}, kXavierNormal[] = {"initializers.xavier_normal"},
                           kKaimingUniform[] = {"initializers.kaiming_uniform"}, kKaimingNormal[] = {"initializers.kaiming_normal"};
const OpDef kVarianceScaling =
    composite_of({"initializers.variance_scaling", "Weights whose variance is scale over how many values are summed: args key.",
                  expand_scaling, 1, 1, kScalingAttrs});
const OpDef kGlorotUniform = composite_of({"initializers.glorot_uniform", "Glorot's weights, uniform: args key.",
                                           expand_scaled<kGlorotUniformly>, 1, 1, kWeightAttrs, kXavierUniform});
const OpDef kGlorotNormal = composite_of({"initializers.glorot_normal", "Glorot's weights, normal within two deviations: args key.",
                                          expand_scaled<kGlorotNormally>, 1, 1, kWeightAttrs, kXavierNormal});
const OpDef kLecunUniform =
    composite_of({"initializers.lecun_uniform", "LeCun's weights, uniform: args key.", expand_scaled<kLecunUniformly>, 1, 1, kWeightAttrs});
const OpDef kLecunNormal = composite_of({"initializers.lecun_normal", "LeCun's weights, normal within two deviations: args key.",
                                         expand_scaled<kLecunNormally>, 1, 1, kWeightAttrs});
const OpDef kHeUniform = composite_of(
    {"initializers.he_uniform", "He's weights, uniform: args key.", expand_scaled<kHeUniformly>, 1, 1, kWeightAttrs, kKaimingUniform});
const OpDef kHeNormal = composite_of({"initializers.he_normal", "He's weights, normal within two deviations: args key.",
                                      expand_scaled<kHeNormally>, 1, 1, kWeightAttrs, kKaimingNormal});
const OpDef kOrthogonalInitializer = composite_of(
    {"initializers.orthogonal", "Weights whose columns, or rows, are orthonormal: args key.", expand_orthogonal, 1, 1, kOrthogonalAttrs});

}  // namespace shardlab::ops
