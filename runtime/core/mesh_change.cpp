#include "runtime/core/mesh_change.h"

#include <algorithm>

namespace shardlab {
namespace {

// How far apart in the mesh two positions are that differ by one in the axis's coordinate.
std::int64_t stride_of(const Mesh& mesh, int axis) {
  std::int64_t stride = 1;
  for (int later = axis + 1; later < mesh.axis_count(); ++later) stride *= mesh.axis_size(later);
  return stride;
}

// A piece is the digit (position / low) mod (high / low).
std::optional<Axes> piece_on(const AxisPiece& piece, const Mesh& from, const Mesh& to) {
  std::int64_t low = stride_of(from, piece.axis) * (from.axis_size(piece.axis) / (piece.pre * piece.size));
  std::int64_t high = low * piece.size, parts = 1;
  Axes pieces;
  for (int axis = 0; axis < to.axis_count(); ++axis) {
    std::int64_t stride = stride_of(to, axis), end = stride * to.axis_size(axis);
    std::int64_t first = std::max(low, stride), last = std::min(high, end);
    if (first >= last) continue;
    if (first % stride != 0 || end % last != 0 || last % first != 0) return std::nullopt;
    pieces.push_back({axis, end / last, last / first});
    parts *= last / first;
  }
  if (parts != piece.size) return std::nullopt;
  return pieces;
}

}  // namespace

std::optional<Spec> spec_on(const Spec& spec, const Mesh& from, const Mesh& to) {
  if (from == to) return spec;
  Spec result;
  for (const Axes& axes : spec) {
    Axes& dim = result.emplace_back();
    for (const AxisPiece& piece : axes) {
      if (piece.size == 1) continue;
      auto pieces = piece_on(piece, from, to);
      if (!pieces) return std::nullopt;
      for (const AxisPiece& each : *pieces) push(dim, each);
    }
  }
  return result;
}

}  // namespace shardlab
