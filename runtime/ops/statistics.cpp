// average, median, quantile, percentile, searchsorted and bincount, as jax.numpy lowers them.
#include <algorithm>
#include <cmath>

#include "runtime/ops/moves.h"
#include "runtime/ops/reductions.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {

namespace {

double number_or(const Attrs& attrs, std::string_view name, double otherwise) { return attrs.has(name) ? attrs.number(name) : otherwise; }

// sum(x w) / sum(w); the weights have the shape of x, or that of the axes. Without them it is the mean.
Values expand_average(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = inexact(b, promoted_dtype(b, args));
  ValueId x = value_of(b, args[0], dtype);
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  bool keepdims = attrs.flag("keepdims");
  if (args.size() == 1) {
    const OpDef& mean = *find_op("mean");
    return mean.expand(b, mean, std::vector<Arg>{x}, attrs);
  }
  ValueId weights = value_of(b, args[1], dtype);
  Shape shape = b.shape(x), own = b.shape(weights), along;
  if (own != shape) {
    if (!attrs.has("axis"))
      throw_user_error("{}: Axis must be specified when shapes of a and weights differ, got {} and {}", op.name, text_of(shape),
                       text_of(own));
    for (int axis : axes) along.push_back(shape[std::size_t(axis)]);
    if (own != along)
      throw_user_error("{}: Shape of weights must be consistent with shape of a along specified axis: got {}, wanted {}", op.name,
                       text_of(own), text_of(along));
    weights = b.emit1(kBroadcastInDim, {weights}, Attrs{{"shape", shape}, {"dims", integers_of(axes)}});
  }
  ValueId total = reduced(b, kReduceSum, b.emit1(kMul, {x, weights}), axes, keepdims);
  return {b.emit1(kDiv, {total, reduced(b, kReduceSum, weights, axes, keepdims)})};
}

// A number as a dtype holds it: quantiles are places computed in the operand's precision.
double rounded(DType dtype, double value) {
  return visit_dtype(dtype, [&]<typename T>(T) { return element_from<double>(element_from<T>(value)); });
}

// The axes in one dimension at the end.
ValueId axes_last(GraphBuilder& b, ValueId x, const std::vector<int>& axes) {
  std::vector<int> order;
  Shape shape = b.shape(x), kept;
  std::int64_t count = 1;
  for (int d = 0; d < int(shape.size()); ++d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    order.push_back(d);
    kept.push_back(shape[std::size_t(d)]);
  }
  for (int d : axes) {
    order.push_back(d);
    count *= shape[std::size_t(d)];
  }
  kept.push_back(count);
  return reshaped(b, transposed(b, x, order), kept);
}

enum class Between { kLinear, kMidpoint };

// Of the sorted row, between the two elements nearest to place q (size - 1); NaN where the row has one.
ValueId quantile_of(GraphBuilder& b, const OpDef& op, const Arg& arg, const Attrs& attrs, double q, Between between) {
  ValueId x = value_of(b, arg);
  x = converted(b, x, inexact(b, b.type(x).dtype));
  DType dtype = b.type(x).dtype;
  if (is_complex(dtype))
    throw_user_error("{}: quantile does not support complex input, as the operation is poorly defined; got {}", op.name, b.type(x).text());
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  Shape kept = kept_shape(b.shape(x), axes);
  x = axes_last(b, x, axes);
  int last = b.type(x).rank() - 1;
  Shape shape = b.shape(x);
  std::int64_t size = shape.back();
  shape.pop_back();
  if (size == 0) throw_user_error("{}: a row without elements has no quantile", op.name);
  ValueId sorted = b.emit1(kSort, {x}, Attrs{{"axis", std::int64_t(last)}});
  double place = rounded(dtype, rounded(dtype, q) * rounded(dtype, rounded(dtype, double(size)) - 1));
  double upper = rounded(dtype, place - std::floor(place)), lower = rounded(dtype, 1 - upper);
  auto element = [&](double at) {
    std::int64_t i = std::clamp<std::int64_t>(std::int64_t(at), 0, size - 1);
    return reshaped(b, slice_in_dim(b, sorted, last, {i, i + 1}), shape);
  };
  ValueId low = element(std::floor(place)), high = element(std::ceil(place)), end = element(double(size - 1)), result = -1;
  if (between == Between::kMidpoint)
    result = binary(b, kMul, b.emit1(kAdd, {low, high}), 0.5);
  else
    result = b.emit1(kAdd, {binary(b, kMul, low, lower), binary(b, kMul, high, upper)});
  result = b.emit1(kSelect, {b.emit1(kNotEqual, {end, end}), end, result});
  return attrs.flag("keepdims") ? reshaped(b, result, kept) : result;
}

Values expand_median(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return {quantile_of(b, op, args[0], attrs, 0.5, Between::kMidpoint)};
}

template <int kWhole>
Values expand_quantile(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  double q = number_or(attrs, "q", 0.5 * kWhole);
  if (args.size() > 1) {
    const Scalar* scalar = std::get_if<Scalar>(&args[1]);
    if (scalar == nullptr) throw_user_error("{}: q must be a number known when the program is built, got an array", op.name);
    if (const auto* whole = std::get_if<std::int64_t>(&scalar->value)) q = double(*whole);
    if (const auto* real = std::get_if<double>(&scalar->value)) q = *real;
  }
  if (!(q >= 0 && q <= kWhole)) throw_user_error("{}: q must lie between 0 and {}, got {}", op.name, kWhole, q);
  return {quantile_of(b, op, args[0], attrs, q / kWhole, Between::kLinear)};
}

// How many elements of the sorted vector lie before each value: all are compared, so that cut vectors need one sum alone. NaN is last.
Values expand_searchsorted(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::string side = attrs.has("side") ? attrs.string("side") : "left";
  if (side != "left" && side != "right")
    throw_user_error("{}: '{}' is an invalid value for keyword 'side'. Expected one of ['left', 'right'].", op.name, side);
  DType dtype = promoted_dtype(b, args);
  ValueId sorted = value_of(b, args[0], dtype), values = value_of(b, args[1], dtype);
  if (b.type(sorted).rank() != 1) throw_user_error("{}: a should be 1-dimensional, got {}", op.name, b.type(sorted).text());
  Shape shape = b.shape(values);
  std::vector<int> dims;
  for (int d = 0; d < int(shape.size()); ++d) dims.push_back(d);
  int last = int(shape.size());
  shape.push_back(b.shape(sorted)[0]);
  check_shape(op.name, shape);
  ValueId row = b.emit1(kBroadcastInDim, {sorted}, Attrs{{"shape", shape}, {"dims", std::vector<std::int64_t>{last}}});
  ValueId column = b.emit1(kBroadcastInDim, {values}, Attrs{{"shape", shape}, {"dims", integers_of(dims)}});
  bool is_left = side == "left";
  ValueId is_before = b.emit1(is_left ? kLess : kLessEqual, {row, column});
  if (is_inexact(dtype)) {
    ValueId number = b.emit1(kEqual, {row, row}), nan = b.emit1(kNotEqual, {column, column});
    is_before = b.emit1(kOr, {is_before, is_left ? b.emit1(kAnd, {number, nan}) : nan});
  }
  return {reduced(b, kReduceSum, converted(b, is_before, DType::kInt32), {last}, false)};
}

// How often each number below `length` occurs, or the sum of its weights. Negative ones count as 0, greater ones not at all.
Values expand_bincount(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!is_integer(b.type(x).dtype))
    throw_user_error("{}: x argument to bincount must have an integer type; got {}", op.name, name_of(b.type(x).dtype));
  if (b.type(x).rank() != 1) throw_user_error("{}: only 1-dimensional input supported, got {}", op.name, b.type(x).text());
  if (!attrs.has("length"))
    throw_user_error("{}: 'length' is missing; it is the shape of the result, which cannot depend on values", op.name);
  std::int64_t length = attrs.integer("length");
  check_shape(op.name, {length});
  ValueId weights = args.size() > 1 ? value_of(b, args[1]) : filled(b, {DType::kInt32, b.shape(x)}, 1.0);
  if (b.shape(weights) != b.shape(x))
    throw_user_error("{}: shape of weights must match shape of x. Got {} and {}", op.name, text_of(b.shape(weights)), text_of(b.shape(x)));
  ValueId zeros = filled(b, {b.type(weights).dtype, {length}}, 0.0);
  if (length == 0) return {zeros};
  return kScatterAdd.expand(b, kScatterAdd, std::vector<Arg>{zeros, binary(b, kMaximum, x, 0.0), weights}, {});
}

constexpr AttrDef kAxis = {"axis", AttrDef::Kind::kScalarOrIntegers, false, "the axis or axes; all by default"};
constexpr AttrDef kKeepdims = {"keepdims", AttrDef::Kind::kFlag, false, "whether reduced axes stay, with size 1"};
constexpr AttrDef kReduceAttrs[] = {kAxis, kKeepdims};
constexpr AttrDef kQuantileAttrs[] = {{"q", AttrDef::Kind::kNumber, false, "which, where it is no operand"}, kAxis, kKeepdims};
constexpr AttrDef kSearchAttrs[] = {
    {"side", AttrDef::Kind::kString, false, "left (default): before elements that are equal; right: after them"}};
constexpr AttrDef kBincountAttrs[] = {{"length", AttrDef::Kind::kInteger, true, "the size of the result; greater numbers are dropped"}};

using Expand = Values (*)(GraphBuilder&, const OpDef&, Args, const Attrs&);
constexpr OpDef composite(std::string_view name, std::string_view doc, int operands, Expand expand, std::span<const AttrDef> attrs) {
  return {.name = name,
          .doc = doc,
          .operands_min = operands,
          .operands_max = 2,
          .attrs = attrs,
          .weakness = Weakness::kNever,
          .expand = expand};
}

}  // namespace

extern const OpDef kAverage, kMedian, kQuantile, kPercentile, kSearchsorted, kBincount;

const OpDef kAverage =
    composite("average", "The mean, weighted where weights are given: args [x] or [x, weights].", 1, expand_average, kReduceAttrs);
const OpDef kMedian = {.name = "median",
                       .doc = "The element in the middle, or the mean of the two there.",
                       .attrs = kReduceAttrs,
                       .weakness = Weakness::kNever,
                       .expand = expand_median};
const OpDef kQuantile =
    composite("quantile", "The q-th quantile, linear between elements: args [x] or [x, q].", 1, expand_quantile<1>, kQuantileAttrs);
const OpDef kPercentile =
    composite("percentile", "The q-th percentile, linear between elements: args [x] or [x, q].", 1, expand_quantile<100>, kQuantileAttrs);
const OpDef kSearchsorted =
    composite("searchsorted", "Where values belong in a sorted vector: args [a, values].", 2, expand_searchsorted, kSearchAttrs);
const OpDef kBincount =
    composite("bincount", "How often each whole number occurs: args [x] or [x, weights].", 1, expand_bincount, kBincountAttrs);

}  // namespace shardlab::ops
