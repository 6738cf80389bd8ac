// roll, fftshift, flip, diff, moveaxis, swapaxes, as jax.numpy lowers them: slices, concatenate, rev, transpose.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/moves.h"

namespace shardlab::ops {
namespace {

std::int64_t modulo(std::int64_t x, std::int64_t n) { return ((x % n) + n) % n; }

// Dimension by dimension: the end before the beginning. Without an axis over the elements in row-major order.
Values expand_roll(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<std::int64_t> shifts = required_list(op, attrs, "shift"), axes{0};
  Shape shape = b.shape(x);
  if (attrs.has("axis")) {
    axes = integer_list_of(attrs, "axis");
  } else {
    x = reshaped(b, x, {b.type(x).elements()});
  }
  std::size_t count = std::max(shifts.size(), axes.size());
  if ((shifts.size() != count && shifts.size() != 1) || (axes.size() != count && axes.size() != 1))
    throw_user_error("{}: shift and axis must have equal lengths or one of them a single number, got {} and {}", op.name, text_of(shifts),
                     text_of(axes));
  for (std::size_t i = 0; i < count; ++i) {
    int dim = normalized_axis(op.name, axes[axes.size() == 1 ? 0 : i], b.type(x).rank());
    std::int64_t size = b.shape(x)[std::size_t(dim)];
    if (size == 0) continue;
    std::int64_t middle = modulo(-(shifts[shifts.size() == 1 ? 0 : i] % size), size);
    if (middle == 0) continue;
    ValueId end = slice_in_dim(b, x, dim, {middle, size});
    x = joined(b, {end, slice_in_dim(b, x, dim, {0, middle})}, dim);
  }
  return {reshaped(b, x, shape)};
}

// The element of frequency 0 in the middle of each axis, or back at the start: a roll by half the size.
template <bool kBack>
Values expand_shift(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  if (auto given = axes_of(op.name, attrs, "axes", rank)) axes = *given;
  if (axes.empty()) return {x};
  std::vector<std::int64_t> shifts;
  for (int d : axes) shifts.push_back((kBack ? -1 : 1) * (b.shape(x)[std::size_t(d)] / 2));
  return expand_roll(b, op, std::vector<Arg>{x}, Attrs{{"shift", shifts}, {"axis", integers_of(axes)}});
}

Values expand_flip(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<int> dims;
  for (int d = 0; d < b.type(x).rank(); ++d) dims.push_back(d);
  if (auto given = axes_of(op.name, attrs, "axis", b.type(x).rank())) dims = *given;
  std::sort(dims.begin(), dims.end());
  return {reversed(b, x, dims)};
}

template <int kDim>
Values expand_flip_dim(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).rank() <= kDim)
    throw_user_error("{} requires input with {} or more dimensions, got {}", op.name, kDim + 1, b.type(x).text());
  return {reversed(b, x, {kDim})};
}

// With what comes before and after: arrays, or scalars for one index.
ValueId lengthened(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, ValueId x, int dim) {
  Term middle(b, x);
  Shape one = middle.shape();
  one[std::size_t(dim)] = 1;
  std::vector<Item> parts;
  auto add = [&](std::string_view name) {
    auto given = named_operand(op, args, attrs, name);
    if (!given) return;
    Term end(b, value_of(b, *given, middle.dtype()));
    parts.emplace_back(end.rank() == 0 ? broadcast(end, one) : end);
  };
  add("prepend");
  parts.emplace_back(middle);
  add("append");
  return call(b, "concatenate", parts, Attrs{{"axis", std::int64_t(dim)}}).id();
}

Values expand_diff(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::int64_t n = attrs.integer("n", 1);
  if (n < 0) throw_user_error("{}: order must be non-negative but got {}", op.name, n);
  if (args.size() > std::size_t(1) + attrs.has("prepend") + attrs.has("append"))
    throw_user_error("{}: takes one operand; give arrays before and after it as 'prepend' and 'append'", op.name);
  if (b.type(x).rank() == 0) throw_user_error("{} requires input that is at least one dimensional; got a scalar", op.name);
  int dim = normalized_axis(op.name, attrs.integer("axis", -1), b.type(x).rank());
  if (attrs.has("prepend") || attrs.has("append")) x = lengthened(b, op, args, attrs, x, dim);
  for (; n > 0 && b.shape(x)[std::size_t(dim)] > 0; --n) {
    std::int64_t size = b.shape(x)[std::size_t(dim)];
    ValueId upper = slice_in_dim(b, x, dim, {1, size});
    ValueId lower = slice_in_dim(b, x, dim, {0, size - 1});
    x = b.emit1(b.type(x).dtype == DType::kBool ? kNotEqual : kSub, {upper, lower});
  }
  return {x};
}

Values expand_moveaxis(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  required_list(op, attrs, "source");
  required_list(op, attrs, "destination");
  std::vector<int> from = *axes_of(op.name, attrs, "source", rank), to = *axes_of(op.name, attrs, "destination", rank);
  if (from.size() != to.size())
    throw_user_error("{}: Inconsistent number of elements: {} vs {}; give each source a destination", op.name, from.size(), to.size());
  std::vector<int> axes(std::size_t(rank), -1);
  for (std::size_t i = 0; i < from.size(); ++i) axes[std::size_t(to[i])] = from[i];
  int next = 0;
  for (int& axis : axes) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return {transposed(b, x, axes)};
}

Values expand_swapaxes(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  if (!attrs.has("axis1") || !attrs.has("axis2")) throw_user_error("{}: attributes 'axis1' and 'axis2' are needed", op.name);
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  std::swap(axes[std::size_t(normalized_axis(op.name, attrs.integer("axis1"), rank))],
            axes[std::size_t(normalized_axis(op.name, attrs.integer("axis2"), rank))]);
  return {transposed(b, x, axes)};
}

constexpr AttrDef kRollAttrs[] = {{"shift", AttrDef::Kind::kScalarOrIntegers, true, "by how many places, one number or one for each axis"},
                                  {"axis", AttrDef::Kind::kScalarOrIntegers, false, "along which; over all elements in order by default"}};
constexpr AttrDef kShiftAttrs[] = {{"axes", AttrDef::Kind::kScalarOrIntegers, false, "along which; all by default"}};
constexpr AttrDef kFlipAttrs[] = {{"axis", AttrDef::Kind::kScalarOrIntegers, false, "along which; all by default"}};
constexpr AttrDef kDiffAttrs[] = {{"n", AttrDef::Kind::kInteger, false, "how many times; 1 by default"},
                                  {"axis", AttrDef::Kind::kInteger, false, "along which; the last by default"},
                                  {"prepend", kNamedOperand, false, "what comes before the first"},
                                  {"append", kNamedOperand, false, "what comes after the last"}};
constexpr AttrDef kMoveAttrs[] = {{"source", AttrDef::Kind::kScalarOrIntegers, true, "the dimensions to move"},
                                  {"destination", AttrDef::Kind::kScalarOrIntegers, true, "where each of them goes"}};
constexpr AttrDef kSwapAttrs[] = {{"axis1", AttrDef::Kind::kInteger, true, "one dimension"},
                                  {"axis2", AttrDef::Kind::kInteger, true, "the other"}};

}  // namespace

extern const OpDef kRoll, kFftshift, kIfftshift, kFlip, kFlipud, kFliplr, kDiff, kMoveaxis, kSwapaxes;

const OpDef kRoll = {.name = "roll",
                     .doc = "The elements shifted along dimensions; those that leave at one end come in at the other.",
                     .attrs = kRollAttrs,
                     .weakness = Weakness::kOfFirst,
                     .expand = expand_roll,
                     .compiled_alone = true};
const OpDef kFftshift = {.name = "fft.fftshift",
                         .doc = "The element of frequency 0 moved to the middle of axes.",
                         .attrs = kShiftAttrs,
                         .expand = expand_shift<false>,
                         .compiled_alone = true};
const OpDef kIfftshift = {.name = "fft.ifftshift",
                          .doc = "The inverse of fftshift, for odd sizes too.",
                          .attrs = kShiftAttrs,
                          .expand = expand_shift<true>,
                          .compiled_alone = true};
const OpDef kFlip = {
    .name = "flip", .doc = "The elements in reverse order along axes.", .attrs = kFlipAttrs, .expand = expand_flip, .compiled_alone = true};
const OpDef kFlipud = {.name = "flipud", .doc = "The rows in reverse order.", .expand = expand_flip_dim<0>, .compiled_alone = true};
const OpDef kFliplr = {.name = "fliplr", .doc = "The columns in reverse order.", .expand = expand_flip_dim<1>, .compiled_alone = true};
const OpDef kDiff = {.name = "diff",
                     .doc = "The differences of neighbours along a dimension; of bool whether they differ.",
                     .operands_max = 3,
                     .attrs = kDiffAttrs,
                     .expand = expand_diff,
                     .compiled_alone = true};
const OpDef kMoveaxis = {
    .name = "moveaxis", .doc = "Dimensions moved to other places, the others in order.", .attrs = kMoveAttrs, .expand = expand_moveaxis};
const OpDef kSwapaxes = {.name = "swapaxes", .doc = "Two dimensions exchanged.", .attrs = kSwapAttrs, .expand = expand_swapaxes};

}  // namespace shardlab::ops
