// Sums of what lies side by side among zeros, as gradients of slices have them.
#include "runtime/ops/primitives.h"
#include "runtime/transform/lighten_rules.h"

namespace shardlab::transform {
namespace {

// What a pad lays along one dimension with zeros before and after it.
struct Laid {
  ValueId x = kZero;
  std::size_t axis = 0;
  std::int64_t begin = 0;
};

std::optional<Laid> laid_among_zeros(const LightEmitter& e, ValueId id) {
  const Node* pad = e.producer(id, ops::kPad);
  if (pad == nullptr || !e.is_filled_with(pad->operands[1], 0)) return std::nullopt;
  const auto& padding = pad->attrs.integers("padding");  // low, high and interior of each dimension
  std::optional<Laid> laid;
  for (std::size_t d = 0; 3 * d < padding.size(); ++d) {
    const std::int64_t low = padding[3 * d], high = padding[3 * d + 1], interior = padding[3 * d + 2];
    if (low == 0 && high == 0 && interior == 0) continue;
    if (laid || low < 0 || high < 0 || interior != 0) return std::nullopt;
    laid = Laid{pad->operands[0], d, low};
  }
  return laid;
}

// What it is joined from along the dimension; itself where it is no such join.
std::vector<ValueId> pieces_of(const LightEmitter& e, ValueId id, std::size_t axis) {
  const Node* join = e.producer(id, ops::kConcatenate);
  return join != nullptr && join->attrs.integer("axis") == std::int64_t(axis) ? join->operands : std::vector<ValueId>{id};
}

}  // namespace

std::optional<ValueId> joined_instead_of_added(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kAdd || !e.is_used_once(site.node.operands[0]) || !e.is_used_once(site.node.operands[1])) return std::nullopt;
  std::optional<Laid> first = laid_among_zeros(e, site.operands[0]), second = laid_among_zeros(e, site.operands[1]);
  if (!first || !second || first->axis != second->axis) return std::nullopt;
  if (second->begin < first->begin) std::swap(first, second);
  const std::size_t axis = first->axis;
  const TensorType type = e.type_of_original(site.node.results[0]);
  const LiesAs whole = e.like(site.node.results[0]);
  auto end_of = [&](const Laid& laid) { return laid.begin + e.type(laid.x).shape[axis]; };
  const std::int64_t gap = second->begin - end_of(*first), begin = first->begin, end = end_of(*second);
  if (gap < 0 || !e.is_whole_along(whole, {int(axis)})) return std::nullopt;
  std::vector<ValueId> pieces = pieces_of(e, first->x, axis);
  const std::vector<ValueId> later = pieces_of(e, second->x, axis);
  if (gap > 0) {
    TensorType zeros = type;
    zeros.shape[axis] = gap;
    pieces.push_back(e.filled(zeros, 0));
  }
  pieces.insert(pieces.end(), later.begin(), later.end());
  const bool is_all = begin == 0 && end == type.shape[axis];
  LiesAs lies = whole;
  if (!is_all) lies.dims[axis] = -1;
  const ValueId joined = e.emit(ops::kConcatenate, pieces, Attrs{{"axis", std::int64_t(axis)}}, lies);
  if (is_all) return joined;
  std::vector<std::int64_t> padding(3 * type.shape.size(), 0);
  padding[3 * axis] = begin;
  padding[3 * axis + 1] = type.shape[axis] - end;
  return e.emit(ops::kPad, {joined, e.filled({type.dtype, {}}, 0)}, Attrs{{"padding", padding}}, whole);
}

}  // namespace shardlab::transform
