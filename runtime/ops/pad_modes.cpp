// jax.numpy.pad: constant, edge, wrap, reflect and symmetric padding, as slices, mirrors and concatenations.
#include <algorithm>

#include "runtime/ops/pad_modes.h"

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

ValueId edge_padded(GraphBuilder& b, ValueId x, int dim, Interval width) {
  std::int64_t size = size_of_dim(b, x, dim);
  Values parts;
  if (width.start > 0) parts.push_back(repeated(b, slice_in_dim(b, x, dim, {0, 1}), dim, width.start));
  parts.push_back(x);
  if (width.stop > 0) parts.push_back(repeated(b, slice_in_dim(b, x, dim, {size - 1, size}), dim, width.stop));
  return joined(b, parts, dim);
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
  if (mode == "constant") {
    std::vector<std::int64_t> padding;
    for (const Interval& width : widths) padding.insert(padding.end(), {width.start, width.stop, 0});
    double value = attrs.has("value") ? attrs.number("value") : 0.0;
    return b.emit1(kPad, {x, scalar_constant(b, b.type(x).dtype, value)}, Attrs{{"padding", padding}});
  }
  if (mode != "edge" && mode != "wrap" && mode != "reflect" && mode != "symmetric")
    throw_user_error("Unimplemented padding mode '{}' for np.pad; use constant, edge, wrap, reflect or symmetric", mode);
  for (int d = 0; d < rank; ++d) {
    Interval width = widths[std::size_t(d)];
    std::int64_t size = size_of_dim(b, x, d);
    if (width.start == 0 && width.stop == 0) continue;
    if (size == 0) throw_user_error("Cannot apply '{}' padding to empty axis: dimension {} of shape {}", mode, d, text_of(b.shape(x)));
    constexpr std::int64_t kPartsMax = 1 << 12;
    if (mode != "edge" && (width.start + width.stop) / size > kPartsMax)
      throw_user_error("{}: dimension {} would be repeated more than {} times; pad less", op.name, d, kPartsMax);
    if (mode == "edge")
      x = edge_padded(b, x, d, width);
    else if (mode == "wrap")
      x = wrapped_around(b, x, d, width);
    else
      x = mirrored(b, x, d, width, mode == "reflect" && size > 1 ? 1 : 0);
  }
  return x;
}

}  // namespace shardlab::ops
