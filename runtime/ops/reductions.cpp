// sum, prod, max, min, mean, any, all, var, std, as jax.numpy lowers them: reduce, then reshape for keepdims.
#include <algorithm>
#include <limits>

#include "runtime/ops/lower.h"
#include "runtime/ops/reductions.h"

namespace shardlab::ops {

std::vector<int> reduced_axes(const GraphBuilder& b, const OpDef& op, ValueId x, const Attrs& attrs) {
  int rank = b.type(x).rank();
  if (auto axes = axes_of(op.name, attrs, "axis", rank)) {
    std::sort(axes->begin(), axes->end());
    return *axes;
  }
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  return axes;
}

Shape kept_shape(const Shape& shape, const std::vector<int>& axes) {
  Shape result = shape;
  for (int axis : axes) result[std::size_t(axis)] = 1;
  return result;
}

ValueId reduced(GraphBuilder& b, const OpDef& reduction, ValueId x, const std::vector<int>& axes, bool keepdims) {
  Shape kept = kept_shape(b.shape(x), axes);
  ValueId result = b.emit1(reduction, {x}, Attrs{{"axes", integers_of(axes)}});
  return keepdims ? reshaped(b, result, kept) : result;
}

std::int64_t reduced_count(const GraphBuilder& b, ValueId x, const std::vector<int>& axes) {
  std::int64_t count = 1;
  for (int axis : axes) count *= b.shape(x)[std::size_t(axis)];
  return count;
}

namespace {

bool keepdims_of(const Attrs& attrs) { return attrs.flag("keepdims"); }

ValueId with_dtype(GraphBuilder& b, ValueId x, const Attrs& attrs) {
  return attrs.has("dtype") ? converted(b, x, attrs.dtype("dtype")) : x;
}

// What jnp.sum adds in where no dtype is asked for: bool counts in the default integer, integers narrower than it widen.
DType summed_dtype(const GraphBuilder& b, DType dtype) {
  DType widest = default_dtype(WeakKind::kInteger, b.config().enable_x64);
  if (dtype == DType::kBool) return widest;
  if (!is_integer(dtype) || size_of(dtype) >= size_of(widest)) return dtype;
  if (is_signed_integer(dtype)) return widest;
  return widest == DType::kInt64 ? DType::kUint64 : DType::kUint32;
}

// 16-bit floats are added in float32 and rounded once.
ValueId widened(GraphBuilder& b, ValueId x) { return is_half(b.type(x).dtype) ? converted(b, x, DType::kFloat32) : x; }

// The reduction, and the attribute "initial" with it, where there is one.
template <const OpDef* kReduction, const OpDef* kBinary>
ValueId reduced_from_initial(GraphBuilder& b, ValueId x, const std::vector<int>& axes, const Attrs& attrs) {
  ValueId result = reduced(b, *kReduction, x, axes, keepdims_of(attrs));
  return attrs.has("initial") ? b.emit1(*kBinary, {filled(b, b.type(result), attrs.number("initial")), result}) : result;
}

template <const OpDef* kReduction, const OpDef* kBinary>
Values expand_sum(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = with_dtype(b, value_of(b, args[0]), attrs);
  DType dtype = attrs.has("dtype") ? b.type(x).dtype : summed_dtype(b, b.type(x).dtype);
  x = widened(b, converted(b, x, dtype));
  return {converted(b, reduced_from_initial<kReduction, kBinary>(b, x, reduced_axes(b, op, x, attrs), attrs), dtype)};
}

template <const OpDef* kReduction, const OpDef* kBinary>
Values expand_extremum(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  if (reduced_count(b, x, axes) == 0 && !attrs.has("initial"))
    throw_user_error("zero-size array to reduction operation {} which has no identity; got shape {}", op.name, text_of(b.shape(x)));
  return {reduced_from_initial<kReduction, kBinary>(b, x, axes, attrs)};
}

template <const OpDef* kReduction>
Values expand_logical(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).dtype != DType::kBool) x = binary(b, kNotEqual, x, 0.0);
  return {reduced(b, *kReduction, x, reduced_axes(b, op, x, attrs), keepdims_of(attrs))};
}

ValueId mean_of(GraphBuilder& b, ValueId x, const std::vector<int>& axes, bool keepdims) {
  std::int64_t count = reduced_count(b, x, axes);
  return binary(b, kDiv, reduced(b, kReduceSum, x, axes, keepdims), double(count));
}

Values expand_mean(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = with_dtype(b, value_of(b, args[0]), attrs);
  DType dtype = inexact(b, b.type(x).dtype);
  x = widened(b, converted(b, x, dtype));
  return {converted(b, mean_of(b, x, reduced_axes(b, op, x, attrs), keepdims_of(attrs)), dtype)};
}

// sum(|x - mean|^2) / (n - ddof); NaN where n - ddof is not positive.
ValueId variance(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  DType dtype = inexact(b, b.type(x).dtype);
  x = widened(b, converted(b, x, dtype));
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  std::int64_t ddof = attrs.integer("ddof", attrs.integer("correction", 0));
  if (ddof < -kElementsMax || ddof > kElementsMax) throw_user_error("{}: ddof is {}, wanted a small whole number", op.name, ddof);
  std::int64_t divisor = reduced_count(b, x, axes) - ddof;
  ValueId centered = binary(b, kSub, x, mean_of(b, x, axes, true));
  if (is_complex(b.type(x).dtype))
    centered = b.emit1(kReal, {b.emit1(kMul, {centered, b.emit1(kConj, {centered})})});
  else
    centered = b.emit1(kMul, {centered, centered});
  ValueId total = reduced(b, kReduceSum, centered, axes, keepdims_of(attrs));
  DType result = real_dtype(dtype);
  if (divisor <= 0) return filled(b, {result, b.shape(total)}, std::numeric_limits<double>::quiet_NaN());
  return converted(b, binary(b, kDiv, total, double(divisor)), result);
}

Values expand_var(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) { return {variance(b, op, args, attrs)}; }
Values expand_std(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {unary(b, kSqrt, variance(b, op, args, attrs))};
}

constexpr AttrDef kAxis = {"axis", AttrDef::Kind::kScalarOrIntegers, false, "the axis or axes to reduce; all by default"};
constexpr AttrDef kKeepdims = {"keepdims", AttrDef::Kind::kFlag, false, "whether reduced axes stay, with size 1"};
constexpr AttrDef kAttrs[] = {kAxis, kKeepdims};
constexpr AttrDef kDType = {"dtype", AttrDef::Kind::kDType, false, "the dtype to compute in"};
constexpr AttrDef kInitial = {"initial", AttrDef::Kind::kNumber, false, "a number that takes part, too"};
constexpr AttrDef kMeanAttrs[] = {kAxis, kKeepdims, kDType};
constexpr AttrDef kSumAttrs[] = {kAxis, kKeepdims, kDType, kInitial};
constexpr AttrDef kExtremumAttrs[] = {kAxis, kKeepdims, kInitial};
constexpr AttrDef kVarAttrs[] = {kAxis,
                                 kKeepdims,
                                 {"ddof", AttrDef::Kind::kInteger, false, "taken from the count; 0 by default"},
                                 {"correction", AttrDef::Kind::kInteger, false, "the same"}};
constexpr std::string_view kMaxAliases[] = {"amax"};
constexpr std::string_view kMinAliases[] = {"amin"};

}  // namespace

extern const OpDef kSum, kProd, kMax, kMin, kMean, kAny, kAll, kVar, kStd;

const OpDef kSum = {.name = "sum",
                    .doc = "The sum over axes; of bool an int32 count.",
                    .attrs = kSumAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_sum<&kReduceSum, &kAdd>};
const OpDef kProd = {.name = "prod",
                     .doc = "The product over axes.",
                     .attrs = kSumAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand_sum<&kReduceProd, &kMul>};
const OpDef kMax = {.name = "max",
                    .doc = "The largest element over axes; NaN wins.",
                    .aliases = kMaxAliases,
                    .attrs = kExtremumAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_extremum<&kReduceMax, &kMaximum>};
const OpDef kMin = {.name = "min",
                    .doc = "The smallest element over axes; NaN wins.",
                    .aliases = kMinAliases,
                    .attrs = kExtremumAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_extremum<&kReduceMin, &kMinimum>};
const OpDef kMean = {.name = "mean",
                     .doc = "The mean over axes: sum / count; integers become float32.",
                     .attrs = kMeanAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand_mean};
const OpDef kAny = {.name = "any",
                    .doc = "Whether any element over axes is not 0.",
                    .attrs = kAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_logical<&kReduceOr>};
const OpDef kAll = {.name = "all",
                    .doc = "Whether all elements over axes are not 0.",
                    .attrs = kAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_logical<&kReduceAnd>};
const OpDef kVar = {.name = "var",
                    .doc = "The variance over axes: the mean squared distance from the mean.",
                    .attrs = kVarAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_var};
const OpDef kStd = {.name = "std",
                    .doc = "The standard deviation over axes: the root of the variance.",
                    .attrs = kVarAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_std};

}  // namespace shardlab::ops
