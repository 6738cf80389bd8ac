// average, searchsorted and bincount, as jax.numpy lowers them.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/moves.h"
#include "runtime/ops/reductions.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {

namespace {

// sum(x w) / sum(w); the weights have the shape of x, or that of the axes. Without them it is the mean.
Values expand_average(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = inexact(promoted_dtype(b, args));
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
    Shape spread(shape.size(), 1);
    for (int axis : axes) spread[std::size_t(axis)] = shape[std::size_t(axis)];
    weights = reshaped(b, weights, spread);  // summed as it is, not once for each row
  }
  ValueId total = reduced(b, kReduceSum, b.emit1(kMul, {x, broadcast_to(b, weights, shape)}), axes, keepdims);
  return {binary(b, kDiv, total, reduced(b, kReduceSum, weights, axes, keepdims))};
}

// Bisection, as JAX's: every step looks at the middle of what is left to each value. So results lie as the values do, and a cut vector is
// gathered once. NaN is last.
Values expand_searchsorted(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::string side = attrs.has("side") ? attrs.string("side") : "left";
  if (side != "left" && side != "right")
    throw_user_error("{}: '{}' is an invalid value for keyword 'side'. Expected one of ['left', 'right'].", op.name, side);
  DType dtype = promoted_dtype(b, args);
  Term sorted(b, value_of(b, args[0], dtype)), values(b, value_of(b, args[1], dtype));
  if (sorted.rank() != 1) throw_user_error("{}: a should be 1-dimensional, got {}", op.name, sorted.text());
  std::int64_t size = sorted.size(0);
  TensorType places{DType::kInt32, values.shape()};
  Term low(b, filled(b, places, 0.0)), high(b, filled(b, places, double(size)));
  for (std::int64_t left = size; left > 0; left /= 2) {
    Term middle = low + call(b, "shift_right_logical", {high - low, 1});
    Term found = taken(sorted, middle, 0), goes_left = side == "left" ? values <= found : values < found;
    if (is_inexact(dtype)) goes_left = goes_left | (side == "left" ? found != found : (found != found) & (values == values));
    low = where(goes_left, low, middle);
    high = where(goes_left, middle, high);
  }
  return {high.id()};
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
constexpr AttrDef kReduceAttrs[] = {
    kAxis, kKeepdims, {"weights", kNamedOperand, false, "how much each element counts, where it is no argument"}};
constexpr AttrDef kSearchAttrs[] = {
    {"side", AttrDef::Kind::kString, false, "left (default): before elements that are equal; right: after them"},
    {"method", AttrDef::Kind::kString, false, "accepted for JAX's sake"}};
constexpr AttrDef kBincountAttrs[] = {{"length", AttrDef::Kind::kInteger, true, "the size of the result; greater numbers are dropped"},
                                      {"minlength", AttrDef::Kind::kInteger, false, "accepted for JAX's sake: the length says it"},
                                      {"weights", kNamedOperand, false, "what each occurrence counts, where it is no argument"}};

}  // namespace

extern const OpDef kAverage, kSearchsorted, kBincount;

const OpDef kAverage =
    composite_of({"average", "The mean, weighted where weights are given: args [x] or [x, weights].", expand_average, 1, 2, kReduceAttrs});
const OpDef kSearchsorted = compiled_alone(
    composite_of({"searchsorted", "Where values belong in a sorted vector: args [a, values].", expand_searchsorted, 2, 2, kSearchAttrs}));
const OpDef kBincount =
    composite_of({"bincount", "How often each whole number occurs: args [x] or [x, weights].", expand_bincount, 1, 2, kBincountAttrs});

}  // namespace shardlab::ops
