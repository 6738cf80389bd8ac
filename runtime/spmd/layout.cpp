#include "runtime/spmd/layout.h"

#include <algorithm>
#include <set>

namespace shardlab::spmd {

Spec normalised(const Spec& spec) {
  Spec result(spec.size());
  for (std::size_t d = 0; d < spec.size(); ++d)
    for (const AxisPiece& piece : spec[d])
      if (piece.size > 1) push(result[d], piece);
  return result;
}

Spec even_prefix(const ValueSharding& value, const Shape& shape) {
  Spec spec(shape.size());
  if (!value) return spec;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t left = shape[d];
    for (const AxisPiece& piece : (*value)[d].axes) {
      if (left % piece.size != 0) break;
      spec[d].push_back(piece);
      left /= piece.size;
    }
  }
  return spec;
}

std::int64_t part_count(const Spec& spec) {
  std::int64_t count = 1;
  for (const Axes& axes : spec) count *= shardlab::part_count(axes);
  return count;
}

std::int64_t local_elements(const Shape& shape, const Spec& spec) { return element_count(shape) / part_count(spec); }

bool is_even(const Shape& shape, const Spec& spec) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] % shardlab::part_count(spec[d]) != 0) return false;
  return true;
}

AtomTable::AtomTable(const Mesh& mesh) {
  for (int axis = 0; axis < mesh.axis_count(); ++axis) cuts_.push_back({1, mesh.axis_size(axis)});
}

void AtomTable::add_cuts(const Axes& axes) {
  for (const AxisPiece& piece : axes) {
    auto& cuts = cuts_[std::size_t(piece.axis)];
    for (std::int64_t point : {piece.pre, piece.pre * piece.size}) {
      auto next = std::lower_bound(cuts.begin(), cuts.end(), point);
      if (next == cuts.end() || *next == point) continue;
      // A cut that does not fit between its neighbours (6 as 2·3 and as 3·2) is left out.
      if (*next % point == 0 && point % *(next - 1) == 0) cuts.insert(next, point);
    }
  }
}

void AtomTable::add_cuts(const Spec& spec) {
  for (const Axes& axes : spec) add_cuts(axes);
}

Axes AtomTable::cut_axes(bool into_primes) const {
  Axes atoms;
  for (std::size_t axis = 0; axis < cuts_.size(); ++axis) {
    for (std::size_t i = 0; i + 1 < cuts_[axis].size(); ++i) {
      std::int64_t pre = cuts_[axis][i], size = cuts_[axis][i + 1] / pre;
      for (std::int64_t prime = 2; into_primes && prime * prime <= size;) {
        if (size % prime != 0) {
          ++prime;
          continue;
        }
        atoms.push_back({int(axis), pre, prime});
        pre *= prime;
        size /= prime;
      }
      if (size > 1) atoms.push_back({int(axis), pre, size});
    }
  }
  return atoms;
}

Axes AtomTable::atoms() const { return cut_axes(false); }
Axes AtomTable::prime_atoms() const { return cut_axes(true); }

std::optional<Axes> split_into(const Axes& pieces, const Axes& atoms) {
  Axes result;
  for (const AxisPiece& piece : pieces) {
    std::int64_t parts = 1;
    for (const AxisPiece& atom : atoms) {
      if (!contains(piece, atom)) continue;
      result.push_back(atom);
      parts *= atom.size;
    }
    if (parts != piece.size) return std::nullopt;
  }
  return result;
}

namespace {

// A dimension whose cut differs: how to find its block under both specs from the coordinates of the axes.
struct DimCut {
  struct Digit {
    int axis;
    int minor, size, weight;  // digit = coordinate / minor % size
  };
  std::vector<Digit> from, to;
  std::int64_t from_block, to_block;
};

std::vector<DimCut::Digit> digits_of(const Mesh& mesh, const Axes& axes) {
  std::vector<DimCut::Digit> digits;
  int weight = int(shardlab::part_count(axes));
  for (const AxisPiece& piece : axes) {
    weight /= int(piece.size);
    digits.push_back({piece.axis, int(mesh.axis_size(piece.axis) / (piece.pre * piece.size)), int(piece.size), weight});
  }
  return digits;
}

std::int64_t block_index(const std::vector<DimCut::Digit>& digits, const std::vector<int>& coordinates) {
  int index = 0;
  for (const auto& digit : digits) index += coordinates[std::size_t(digit.axis)] / digit.minor % digit.size * digit.weight;
  return index;
}

// Steps through the coordinates of the listed axes; false after the last.
bool advance(std::vector<int>& coordinates, const std::vector<int>& axes, const Mesh& mesh) {
  for (int axis : axes) {
    int& coordinate = coordinates[std::size_t(axis)];
    if (++coordinate < int(mesh.axis_size(axis))) return true;
    coordinate = 0;
  }
  return false;
}

}  // namespace

std::int64_t missing_elements(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  if (from == to || element_count(shape) == 0) return 0;
  std::vector<DimCut> cuts;
  std::set<int> axes;
  std::int64_t common = 1;  // elements in the dimensions that are cut alike
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (from[d] == to[d]) {
      common *= shape[d] / shardlab::part_count(from[d]);
      continue;
    }
    cuts.push_back({digits_of(mesh, from[d]), digits_of(mesh, to[d]), shape[d] / shardlab::part_count(from[d]),
                    shape[d] / shardlab::part_count(to[d])});
    for (const Axes* pieces : {&from[d], &to[d]})
      for (const AxisPiece& piece : *pieces) axes.insert(piece.axis);
  }
  std::vector<int> varied(axes.begin(), axes.end());
  std::int64_t replicas = mesh.size(), missing = 0;
  for (int axis : varied) replicas /= mesh.axis_size(axis);
  std::vector<int> coordinates(std::size_t(mesh.axis_count()), 0);
  do {
    std::int64_t needed = 1, held = 1;
    for (const DimCut& cut : cuts) {
      std::int64_t from_start = block_index(cut.from, coordinates) * cut.from_block;
      std::int64_t to_start = block_index(cut.to, coordinates) * cut.to_block;
      std::int64_t start = std::max(from_start, to_start);
      std::int64_t stop = std::min(from_start + cut.from_block, to_start + cut.to_block);
      needed *= cut.to_block;
      held *= std::max<std::int64_t>(0, stop - start);
    }
    missing += needed - held;
  } while (advance(coordinates, varied, mesh));
  return missing * common * replicas;
}

}  // namespace shardlab::spmd
