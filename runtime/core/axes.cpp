#include "runtime/core/axes.h"

#include <algorithm>

namespace shardlab {

bool overlaps(const AxisPiece& a, const AxisPiece& b) { return a.axis == b.axis && a.pre < b.pre * b.size && b.pre < a.pre * a.size; }

bool is_prefix(const AxisPiece& a, const AxisPiece& b) { return a.axis == b.axis && a.pre == b.pre && a.size <= b.size; }

bool contains(const AxisPiece& outer, const AxisPiece& inner) {
  return outer.axis == inner.axis && outer.pre <= inner.pre && outer.pre * outer.size >= inner.pre * inner.size;
}

std::optional<AxisPiece> cut(AxisPiece a, std::span<const AxisPiece> others) {
  for (const AxisPiece& other : others) {
    if (!overlaps(a, other)) continue;
    if (other.pre <= a.pre) return std::nullopt;
    a.size = other.pre / a.pre;
    if (a.size <= 1) return std::nullopt;
  }
  return a;
}

void push(Axes& axes, const AxisPiece& piece) {
  if (!axes.empty() && axes.back().axis == piece.axis && axes.back().pre * axes.back().size == piece.pre)
    axes.back().size *= piece.size;
  else
    axes.push_back(piece);
}

Axes merged(std::span<const AxisPiece> axes) {
  Axes result;
  for (const AxisPiece& piece : axes) push(result, piece);
  return result;
}

std::int64_t part_count(std::span<const AxisPiece> axes) {
  std::int64_t count = 1;
  for (const AxisPiece& piece : axes) count *= piece.size;
  return count;
}

PrefixKind prefix_kind(std::span<const AxisPiece> x, std::span<const AxisPiece> y) {
  if (x.empty()) return y.empty() ? PrefixKind::kEqual : PrefixKind::kStrict;
  if (x.size() > y.size()) return PrefixKind::kNone;
  if (!std::equal(x.begin(), x.end() - 1, y.begin())) return PrefixKind::kNone;
  const AxisPiece& last = y[x.size() - 1];
  if (x.size() == y.size() && x.back() == last) return PrefixKind::kEqual;
  return is_prefix(x.back(), last) ? PrefixKind::kStrict : PrefixKind::kNone;
}

}  // namespace shardlab
