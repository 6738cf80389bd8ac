// jax.numpy.pad by its modes, as slices, mirrors, ramps, reductions and concatenations.
#include <algorithm>

#include "runtime/ops/pad_modes.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

// `pad_width` [low, high] of each dimension, or one pair for all.
std::vector<Interval> widths_of(const OpDef& op, const Attrs& attrs, int rank) {
  std::vector<std::int64_t> numbers = integer_list_of(attrs, "pad_width");
  std::vector<Interval> widths;
  for (int d = 0; d < rank; ++d) {
    std::size_t at = numbers.size() <= 2 ? 0 : 2 * std::size_t(d);
    std::size_t high = numbers.size() == 1 ? 0 : at + 1;
    if (high >= numbers.size()) break;
    widths.push_back({numbers[at], numbers[high]});
  }
  bool fits = int(widths.size()) == rank && (numbers.size() <= 2 || numbers.size() == 2 * std::size_t(rank));
  for (const Interval& width : widths)
    fits &= width.start >= 0 && width.stop >= 0 && width.start <= kElementsMax && width.stop <= kElementsMax;
  if (!fits)
    throw_user_error("{}: pad_width must be one number, [low, high], or [low, high] for each of {} dimensions, none negative; got {}",
                     op.name, rank, text_of(numbers));
  return widths;
}

std::int64_t size_of_dim(const GraphBuilder& b, ValueId x, int dim) { return b.shape(x)[std::size_t(dim)]; }

// x between two paddings; a width of 0 has none.
template <typename F>
ValueId between(GraphBuilder& b, ValueId x, int dim, Interval width, F&& padding) {
  Values parts;
  if (width.start > 0) parts.push_back(padding(width.start, true));
  parts.push_back(x);
  if (width.stop > 0) parts.push_back(padding(width.stop, false));
  return joined(b, parts, dim);
}

ValueId edge_of(GraphBuilder& b, ValueId x, int dim, bool is_first) {
  std::int64_t size = size_of_dim(b, x, dim);
  return slice_in_dim(b, x, dim, is_first ? Interval{0, 1} : Interval{size - 1, size});
}

ValueId edge_padded(GraphBuilder& b, ValueId x, int dim, Interval width) {
  return between(b, x, dim, width,
                 [&](std::int64_t count, bool is_first) { return repeated(b, edge_of(b, x, dim, is_first), dim, count); });
}

// From 0 to the edge, which is no part of it, in equal steps; whole numbers are rounded down.
ValueId ramp_padded(GraphBuilder& b, ValueId x, int dim, Interval width) {
  DType dtype = b.type(x).dtype, computed = inexact(dtype);
  return between(b, x, dim, width, [&](std::int64_t count, bool is_first) {
    TensorType type{computed, b.shape(x)};
    type.shape[std::size_t(dim)] = count;
    ValueId steps = b.emit1(kIota, {}, Attrs{{"dtype", computed}, {"shape", type.shape}, {"dimension", std::int64_t(dim)}});
    ValueId edge = broadcast_to(b, converted(b, edge_of(b, x, dim, is_first), computed), type.shape);
    ValueId ramp = b.emit1(kMul, {edge, binary(b, kDiv, steps, double(count))});
    if (is_integer(dtype)) ramp = unary(b, kFloor, ramp);
    ramp = converted(b, ramp, dtype);
    return is_first ? ramp : reversed(b, ramp, {dim});
  });
}

// By one number a row: its largest, its mean …
ValueId statistic_padded(GraphBuilder& b, ValueId x, int dim, Interval width, std::string_view statistic) {
  const OpDef& op = *find_op(statistic);
  DType dtype = b.type(x).dtype;
  ValueId value = op.expand(b, op, std::vector<Arg>{x}, Attrs{{"axis", std::int64_t(dim)}, {"keepdims", true}}).at(0);
  if (is_integer(dtype) && is_inexact(b.type(value).dtype)) value = unary(b, kRound, value);
  value = converted(b, value, dtype);
  return between(b, x, dim, width, [&](std::int64_t count, bool) { return repeated(b, value, dim, count); });
}

ValueId wrapped_around(GraphBuilder& b, ValueId x, int dim, Interval width) {
  std::int64_t size = size_of_dim(b, x, dim), left = width.start % size, right = width.stop % size;
  Values parts;
  if (left > 0) parts.push_back(slice_in_dim(b, x, dim, {size - left, size}));
  for (std::int64_t i = 0; i < width.start / size + width.stop / size + 1; ++i) parts.push_back(x);
  if (right > 0) parts.push_back(slice_in_dim(b, x, dim, {0, right}));
  return joined(b, parts, dim);
}

// Mirrored again and again until the padding is full; `offset` 1 leaves the edge itself out.
ValueId mirrored(GraphBuilder& b, ValueId x, int dim, Interval width, std::int64_t offset) {
  std::int64_t period = size_of_dim(b, x, dim) - offset;
  auto pad = [&](std::int64_t padding, bool before) {
    while (padding > 0) {
      std::int64_t now = std::min(padding, period), size = size_of_dim(b, x, dim);
      padding -= now;
      ValueId part = slice_in_dim(b, x, dim, before ? Interval{offset, offset + now} : Interval{size - offset - now, size - offset});
      part = reversed(b, part, {dim});
      x = joined(b, before ? Values{part, x} : Values{x, part}, dim);
    }
  };
  pad(width.start, true);
  pad(width.stop, false);
  return x;
}

}  // namespace

ValueId padded_by_mode(GraphBuilder& b, const OpDef& op, ValueId x, const Attrs& attrs) {
  std::string mode = attrs.has("mode") ? attrs.string("mode") : "constant";
  int rank = b.type(x).rank();
  std::vector<Interval> widths = widths_of(op, attrs, rank);
  if (mode == "constant" || mode == "empty") {
    std::vector<std::int64_t> padding;
    for (const Interval& width : widths) padding.insert(padding.end(), {width.start, width.stop, 0});
    double value = attrs.has("value") ? attrs.number("value") : attrs.has("constant_values") ? attrs.number("constant_values") : 0.0;
    return b.emit1(kPad, {x, scalar_constant(b, b.type(x).dtype, value)}, Attrs{{"padding", padding}});
  }
  constexpr std::pair<std::string_view, std::string_view> kStatistics[] = {
      {"maximum", "max"}, {"minimum", "min"}, {"mean", "mean"}, {"median", "median"}};
  auto statistic = std::find_if(std::begin(kStatistics), std::end(kStatistics), [&](const auto& each) { return each.first == mode; });
  const bool is_statistic = statistic != std::end(kStatistics), is_single = is_statistic || mode == "edge" || mode == "linear_ramp";
  if (!is_single && mode != "wrap" && mode != "reflect" && mode != "symmetric")
    throw_user_error(
        "Unimplemented padding mode '{}' for np.pad; use constant, empty, edge, linear_ramp, wrap, reflect, symmetric, maximum, minimum, "
        "mean or median",
        mode);
  for (int d = 0; d < rank; ++d) {
    Interval width = widths[std::size_t(d)];
    std::int64_t size = size_of_dim(b, x, d);
    if (width.start == 0 && width.stop == 0) continue;
    if (size == 0) throw_user_error("Cannot apply '{}' padding to empty axis: dimension {} of shape {}", mode, d, text_of(b.shape(x)));
    constexpr std::int64_t kPartsMax = 1 << 12;
    if (!is_single && (width.start + width.stop) / size > kPartsMax)
      throw_user_error("{}: dimension {} would be repeated more than {} times; pad less", op.name, d, kPartsMax);
    if (is_statistic)
      x = statistic_padded(b, x, d, width, statistic->second);
    else if (mode == "linear_ramp")
      x = ramp_padded(b, x, d, width);
    else if (mode == "edge")
      x = edge_padded(b, x, d, width);
    else if (mode == "wrap")
      x = wrapped_around(b, x, d, width);
    else
      x = mirrored(b, x, d, width, mode == "reflect" && size > 1 ? 1 : 0);
  }
  return x;
}

}  // namespace shardlab::ops
