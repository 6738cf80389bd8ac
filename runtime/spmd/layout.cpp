#include "runtime/spmd/layout.h"

#include <algorithm>
#include <numeric>

#include "runtime/spmd/overlap.h"

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

Spec propagated_spec(const ValueSharding& value, const Shape& shape) {
  Spec spec(shape.size());
  if (value)
    for (std::size_t d = 0; d < shape.size(); ++d) spec[d] = (*value)[d].axes;
  return spec;
}

std::int64_t part_count(const Spec& spec) {
  std::int64_t count = 1;
  for (const Axes& axes : spec) count *= shardlab::part_count(axes);
  return count;
}

std::int64_t local_elements(const Shape& shape, const Spec& spec) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t parts = shardlab::part_count(spec[d]);
    count *= (shape[d] + parts - 1) / parts;
  }
  return count;
}

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

// Takes the common major part off both lists.
void strip_common(Axes& from, Axes& to) {
  while (!from.empty() && !to.empty()) {
    AxisPiece &a = from.front(), &b = to.front();
    if (a.axis != b.axis || a.pre != b.pre) break;
    std::int64_t size = std::gcd(a.size, b.size);
    if (size != a.size && size != b.size) break;
    for (Axes* axes : {&from, &to}) {
      AxisPiece& piece = axes->front();
      if (piece.size == size)
        axes->erase(axes->begin());
      else
        piece = {piece.axis, piece.pre * size, piece.size / size};
    }
  }
}

std::vector<DimCut> differing_cuts(const Shape& shape, const Spec& from, const Spec& to, std::int64_t& common) {
  std::vector<DimCut> cuts;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t from_block = shape[d] / shardlab::part_count(from[d]), to_block = shape[d] / shardlab::part_count(to[d]);
    if (from[d] == to[d]) {
      common *= to_block;
      continue;
    }
    DimCut cut{from[d], to[d], from_block, to_block};
    strip_common(cut.from, cut.to);
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

// The digits that the cuts use, or nothing where they do not fit together.
std::optional<Axes> common_digits(const std::vector<DimCut>& cuts) {
  std::vector<AxisPiece> pieces;
  for (const DimCut& cut : cuts)
    for (const Axes* axes : {&cut.from, &cut.to}) pieces.insert(pieces.end(), axes->begin(), axes->end());
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  Axes digits;
  for (std::size_t i = 0; i < pieces.size();) {
    std::vector<std::int64_t> points;
    int axis = pieces[i].axis;
    for (; i < pieces.size() && pieces[i].axis == axis; ++i) {
      points.push_back(pieces[i].pre);
      points.push_back(pieces[i].pre * pieces[i].size);
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    for (std::size_t k = 0; k + 1 < points.size(); ++k) {
      if (points[k + 1] % points[k] != 0) return std::nullopt;
      digits.push_back({axis, points[k], points[k + 1] / points[k]});
    }
  }
  return digits;
}

// Whether every block under `fine` lies in one under `coarse`.
bool cuts_further(const Axes& coarse, const Axes& fine) {
  if (prefix_kind(coarse, fine) == PrefixKind::kNone) return false;
  return coarse.empty() || fine[coarse.size() - 1].size % coarse.back().size == 0;
}

// Of even specs of which in every dimension one cuts the other's blocks further (gathers, slices): the same everywhere.
std::optional<std::int64_t> missing_where_nested(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  std::int64_t needed = 1, common = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!cuts_further(from[d], to[d]) && !cuts_further(to[d], from[d])) return std::nullopt;
    std::int64_t from_block = shape[d] / shardlab::part_count(from[d]), to_block = shape[d] / shardlab::part_count(to[d]);
    needed *= to_block;
    common *= std::min(from_block, to_block);
  }
  return (needed - common) * mesh.size();
}

}  // namespace

std::int64_t missing_elements(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  if (from == to || element_count(shape) == 0) return 0;
  if (!is_even(shape, from) || !is_even(shape, to)) return missing_elements(boxes_of(shape, from, mesh), boxes_of(shape, to, mesh));
  if (auto missing = missing_where_nested(mesh, shape, from, to)) return *missing;
  std::int64_t common = 1;  // elements in the dimensions that are cut alike
  std::vector<DimCut> cuts = differing_cuts(shape, from, to, common);
  std::optional<Axes> digits = common_digits(cuts);
  // Where cuts of one axis do not fit together there are no common digits: position by position.
  if (!digits) return missing_elements(boxes_of(shape, from, mesh), boxes_of(shape, to, mesh));
  std::int64_t replicas = mesh.size() / shardlab::part_count(*digits);
  return missing_under(std::move(cuts), std::move(*digits)) * common * replicas;
}

std::int64_t missing_elements(const std::vector<Box>& held, const std::vector<Box>& wanted) {
  std::int64_t missing = 0;
  for (std::size_t p = 0; p < wanted.size(); ++p) {
    std::int64_t common = 1, needed = 1;
    for (std::size_t d = 0; d < wanted[p].size(); ++d) {
      const Interval &have = held[p][d], &want = wanted[p][d];
      needed *= want.size();
      common *= std::max<std::int64_t>(0, std::min(have.stop, want.stop) - std::max(have.start, want.start));
    }
    missing += needed - common;
  }
  return missing;
}

}  // namespace shardlab::spmd
