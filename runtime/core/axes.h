// The algebra of axis pieces: whole mesh axes and the sub-axes they are cut into.
//
// Source: propagation as in Shardy's representation; a sub-axis "x":(pre)size is the digit of axis x that comes after `pre` major parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shardlab {

// Of mesh axis number `axis` with n parts: the digit of that size after `pre` major parts. The whole axis is {axis, 1, n}.
struct AxisPiece {
  int axis = 0;
  std::int64_t pre = 1;
  std::int64_t size = 1;
  bool operator==(const AxisPiece&) const = default;
  auto operator<=>(const AxisPiece&) const = default;
};

using Axes = std::vector<AxisPiece>;  // major to minor

bool overlaps(const AxisPiece& a, const AxisPiece& b);
// `a` equals `b` or is its major part.
bool is_prefix(const AxisPiece& a, const AxisPiece& b);
bool contains(const AxisPiece& outer, const AxisPiece& inner);
// The longest major part of `a` that overlaps none of `others`, or nothing.
std::optional<AxisPiece> cut(AxisPiece a, std::span<const AxisPiece> others);
// Appends a piece, merging it with the last where they are consecutive digits of one axis.
void push(Axes& axes, const AxisPiece& piece);
// The same list with consecutive pieces merged.
Axes merged(std::span<const AxisPiece> axes);
// How many parts the axes cut a dimension into.
std::int64_t part_count(std::span<const AxisPiece> axes);

enum class PrefixKind : std::uint8_t { kNone, kStrict, kEqual };
// Whether list x is a prefix of list y: all but the last element equal, the last a prefix.
PrefixKind prefix_kind(std::span<const AxisPiece> x, std::span<const AxisPiece> y);

}  // namespace shardlab
