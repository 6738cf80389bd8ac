// sum, prod, max, min, mean, any, all, var, std, as jax.numpy lowers them: reduce, then reshape for keepdims.
#include <algorithm>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/reductions.h"
#include "runtime/ops/unary.h"

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

// The operand that attribute "where" names; nothing where all elements take part. Each use broadcasts it anew, as in JAX: a count of it
// lies where the mask does, the elements where they do.
std::optional<ValueId> mask_of(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, const Shape& shape) {
  auto given = named_operand(op, args, attrs, "where");
  if (!given && args.size() > 1) throw_user_error("{}: takes one operand; give which elements take part as 'where'", op.name);
  if (!given) return std::nullopt;
  ValueId mask = value_of(b, *given);
  if (b.type(mask).dtype != DType::kBool) throw_user_error("{}: where must have dtype bool, got {}", op.name, b.type(mask).text());
  check_broadcasts_to(op.name, b.shape(mask), shape);
  return mask;
}

// x, and what changes nothing where the mask does not hold.
ValueId masked(GraphBuilder& b, ValueId x, std::optional<ValueId> mask, const Scalar& neutral) {
  return mask ? where(b, broadcast_to(b, *mask, b.shape(x)), x, filled(b, b.type(x), neutral)) : x;
}

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

// The greatest or the least value of a type.
ValueId extreme(GraphBuilder& b, const TensorType& type, bool is_greatest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_inexact(type.dtype)) return filled(b, type, is_greatest ? kInfinity : -kInfinity);
  if (type.dtype == DType::kBool) return filled(b, type, is_greatest ? 1.0 : 0.0);
  ValueId zeros = filled(b, type, 0.0);
  if (is_unsigned_integer(type.dtype)) return is_greatest ? unary(b, kNot, zeros) : zeros;
  std::int64_t least = visit_dtype(type.dtype, []<typename T>(T) -> std::int64_t {
    if constexpr (std::is_integral_v<T>) return std::int64_t(std::numeric_limits<T>::min());
    return 0;
  });
  return filled(b, type, Scalar{is_greatest ? -(least + 1) : least});
}

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
  x = masked(b, x, mask_of(b, op, args, attrs, b.shape(x)), Scalar{std::int64_t(kReduction->reduction == Reduction::kProd)});
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  // A product's derivative multiplies in the order in which the axes were given, as JAX's.
  if (kReduction->reduction == Reduction::kProd) axes = axes_of(op.name, attrs, "axis", b.type(x).rank()).value_or(axes);
  return {converted(b, reduced_from_initial<kReduction, kBinary>(b, x, axes, attrs), dtype)};
}

template <const OpDef* kReduction, const OpDef* kBinary>
Values expand_extremum(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  if (auto mask = mask_of(b, op, args, attrs, b.shape(x))) {
    if (!attrs.has("initial"))
      throw_user_error("reduction operation {} does not have an identity, so to use a where mask one has to specify 'initial'", op.name);
    x = where(b, broadcast_to(b, *mask, b.shape(x)), x, extreme(b, b.type(x), kReduction->reduction == Reduction::kMin));
  }
  if (reduced_count(b, x, axes) == 0 && !attrs.has("initial"))
    throw_user_error("zero-size array to reduction operation {} which has no identity; got shape {}", op.name, text_of(b.shape(x)));
  return {reduced_from_initial<kReduction, kBinary>(b, x, axes, attrs)};
}

template <const OpDef* kReduction>
Values expand_logical(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).dtype != DType::kBool) x = binary(b, kNotEqual, x, 0.0);
  x = masked(b, x, mask_of(b, op, args, attrs, b.shape(x)), Scalar{kReduction->reduction == Reduction::kAnd});
  return {reduced(b, *kReduction, x, reduced_axes(b, op, x, attrs), keepdims_of(attrs))};
}

// How many elements each mean is of, in the dtype of x: a number, or counted where the mask holds.
ValueId counted(GraphBuilder& b, ValueId mask, const TensorType& x, const std::vector<int>& axes, bool keepdims) {
  mask = broadcast_to(b, mask, x.shape);
  return reduced(b, kReduceSum, converted(b, converted(b, mask, DType::kInt32), x.dtype), axes, keepdims);
}
ValueId mean_of(GraphBuilder& b, ValueId x, std::optional<ValueId> mask, const std::vector<int>& axes, bool keepdims) {
  if (!mask) return binary(b, kDiv, reduced(b, kReduceSum, x, axes, keepdims), double(reduced_count(b, x, axes)));
  ValueId count = counted(b, *mask, b.type(x), axes, keepdims);  // first, as in JAX
  return b.emit1(kDiv, {reduced(b, kReduceSum, masked(b, x, mask, Scalar{0.0}), axes, keepdims), count});
}

Values expand_mean(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = with_dtype(b, value_of(b, args[0]), attrs);
  DType dtype = attrs.has("dtype") ? b.type(x).dtype : inexact(b.type(x).dtype);
  x = widened(b, converted(b, x, dtype));
  std::optional<ValueId> mask = mask_of(b, op, args, attrs, b.shape(x));
  return {converted(b, mean_of(b, x, mask, reduced_axes(b, op, x, attrs), keepdims_of(attrs)), dtype)};
}

// What a variance is computed in where a dtype is asked for.
DType variance_dtype(const OpDef& op, DType own, DType asked) {
  if (is_complex(own) && !is_complex(asked))
    throw_user_error("{}: dtype {} is not complex, but the array is: cast it to a real dtype if its imaginary part may go", op.name,
                     name_of(asked));
  return promote(own, asked, true);
}

// sum(|x - mean|^2) / (n - ddof); NaN where n - ddof is not positive.
ValueId variance(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  DType dtype = inexact(b.type(x).dtype);
  if (attrs.has("dtype")) dtype = variance_dtype(op, dtype, attrs.dtype("dtype"));
  x = widened(b, converted(b, x, dtype));
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  std::optional<ValueId> mask = mask_of(b, op, args, attrs, b.shape(x));
  std::int64_t ddof = attrs.integer("ddof", attrs.integer("correction", 0));
  if (ddof < -kElementsMax || ddof > kElementsMax) throw_user_error("{}: ddof is {}, wanted a small whole number", op.name, ddof);
  ValueId centered = binary(b, kSub, x, mean_of(b, x, mask, axes, true));
  if (is_complex(b.type(x).dtype))
    centered = b.emit1(kReal, {b.emit1(kMul, {centered, b.emit1(kConj, {centered})})});
  else
    centered = unary(b, kSquare, centered);
  bool keepdims = keepdims_of(attrs);
  std::optional<ValueId> count;
  if (mask) count = counted(b, *mask, b.type(centered), axes, keepdims);
  ValueId total = reduced(b, kReduceSum, masked(b, centered, mask, Scalar{0.0}), axes, keepdims);
  DType result = real_dtype(attrs.has("dtype") ? inexact(attrs.dtype("dtype")) : dtype);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (count) {
    ValueId divisor = binary(b, kSub, *count, double(ddof));
    ValueId quotient = b.emit1(kDiv, {total, divisor});
    return converted(b, where(b, binary(b, kGreater, divisor, 0.0), quotient, filled(b, b.type(total), kNan)), result);
  }
  std::int64_t divisor = reduced_count(b, x, axes) - ddof;
  if (divisor <= 0) return filled(b, {result, b.shape(total)}, kNan);
  return converted(b, binary(b, kDiv, total, double(divisor)), result);
}

Values expand_var(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) { return {variance(b, op, args, attrs)}; }
Values expand_std(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {unary(b, kSqrt, variance(b, op, args, attrs))};
}

constexpr AttrDef kAxis = {"axis", AttrDef::Kind::kScalarOrIntegers, false, "the axis or axes to reduce; all by default"};
constexpr AttrDef kKeepdims = {"keepdims", AttrDef::Kind::kFlag, false, "whether reduced axes stay, with size 1"};
constexpr AttrDef kWhere = {"where", kNamedOperand, false, "which elements take part: bools that broadcast to x"};
constexpr AttrDef kAttrs[] = {kAxis, kKeepdims, kWhere};
constexpr AttrDef kDType = {"dtype", AttrDef::Kind::kDType, false, "the dtype to compute in"};
constexpr AttrDef kInitial = {"initial", AttrDef::Kind::kNumber, false, "a number that takes part, too"};
constexpr AttrDef kMeanAttrs[] = {kAxis, kKeepdims, kDType, kWhere};
constexpr AttrDef kSumAttrs[] = {kAxis, kKeepdims, kDType, kInitial, kWhere};
constexpr AttrDef kExtremumAttrs[] = {kAxis, kKeepdims, kInitial, kWhere};
constexpr AttrDef kVarAttrs[] = {kAxis,
                                 kKeepdims,
                                 {"ddof", AttrDef::Kind::kInteger, false, "taken from the count; 0 by default"},
                                 {"correction", AttrDef::Kind::kInteger, false, "the same"},
                                 kDType,
                                 kWhere};
constexpr std::string_view kMaxAliases[] = {"amax"};
constexpr std::string_view kMinAliases[] = {"amin"};

}  // namespace

extern const OpDef kSum, kProd, kMax, kMin, kMean, kAny, kAll, kVar, kStd;

const OpDef kSum = {.name = "sum",
                    .doc = "The sum over axes; of bool an int32 count.",
                    .operands_max = 2,
                    .attrs = kSumAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_sum<&kReduceSum, &kAdd>};
const OpDef kProd = {.name = "prod",
                     .doc = "The product over axes.",
                     .operands_max = 2,
                     .attrs = kSumAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand_sum<&kReduceProd, &kMul>};
const OpDef kMax = {.name = "max",
                    .doc = "The largest element over axes; NaN wins.",
                    .aliases = kMaxAliases,
                    .operands_max = 2,
                    .attrs = kExtremumAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_extremum<&kReduceMax, &kMaximum>};
const OpDef kMin = {.name = "min",
                    .doc = "The smallest element over axes; NaN wins.",
                    .aliases = kMinAliases,
                    .operands_max = 2,
                    .attrs = kExtremumAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_extremum<&kReduceMin, &kMinimum>};
const OpDef kMean = {.name = "mean",
                     .doc = "The mean over axes: sum / count; integers become float32.",
                     .operands_max = 2,
                     .attrs = kMeanAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand_mean};
const OpDef kAny = {.name = "any",
                    .doc = "Whether any element over axes is not 0.",
                    .operands_max = 2,
                    .attrs = kAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_logical<&kReduceOr>};
const OpDef kAll = {.name = "all",
                    .doc = "Whether all elements over axes are not 0.",
                    .operands_max = 2,
                    .attrs = kAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_logical<&kReduceAnd>};
const OpDef kVar = {.name = "var",
                    .doc = "The variance over axes: the mean squared distance from the mean.",
                    .operands_max = 2,
                    .attrs = kVarAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_var,
                    .compiled_alone = true};
const OpDef kStd = {.name = "std",
                    .doc = "The standard deviation over axes: the root of the variance.",
                    .operands_max = 2,
                    .attrs = kVarAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_std,
                    .compiled_alone = true};

}  // namespace shardlab::ops
