#include "runtime/spmd/project.h"

#include <numeric>

namespace shardlab::spmd {
namespace {

// Moves pieces from the front of `rest` to the factor until it is full or a piece does not fit; a piece that fits in part is split.
std::int64_t take_pieces(Axes& axes, Axes& rest, std::int64_t factor_size) {
  std::int64_t left = factor_size;
  while (!rest.empty()) {
    AxisPiece& piece = rest.front();
    std::int64_t common = std::gcd(left, piece.size);
    if (common == 1 && piece.size != 1) break;
    if (piece.size > common) {
      axes.push_back({piece.axis, piece.pre, common});
      piece = {piece.axis, piece.pre * common, piece.size / common};
      left /= common;
    } else {
      axes.push_back(piece);
      left /= piece.size;
      rest.erase(rest.begin());
    }
  }
  return left;
}

void project_dim(const DimSharding& dim, const std::vector<int>& dim_factors, const std::vector<Factor>& factors, Projection& out) {
  Axes rest = dim.axes;
  bool overflowed = false;
  for (std::size_t k = 0; k < dim_factors.size(); ++k) {
    FactorSharding sharding{.factor = dim_factors[k], .closed = dim.closed || overflowed, .minor_most = k + 1 == dim_factors.size()};
    if (sharding.minor_most) {
      sharding.axes = merged(rest);
      rest.clear();
    } else if (!overflowed) {
      std::int64_t left = take_pieces(sharding.axes, rest, factors[std::size_t(dim_factors[k])].size);
      if (left > 1 && !rest.empty()) {
        sharding.overflow = merged(rest);
        rest.clear();
        overflowed = true;
      }
    }
    out.push_back(std::move(sharding));
  }
}

// The first piece merges with what is there; the others are kept apart as they came.
void append(Axes& dim, const Axes& pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == 0)
      push(dim, pieces[i]);
    else
      dim.push_back(pieces[i]);
  }
}

}  // namespace

FactorSharding* find(Projection& projection, int factor) {
  for (FactorSharding& sharding : projection)
    if (sharding.factor == factor) return &sharding;
  return nullptr;
}

const FactorSharding* find(const Projection& projection, int factor) {
  for (const FactorSharding& sharding : projection)
    if (sharding.factor == factor) return &sharding;
  return nullptr;
}

Projection project(const std::vector<DimSharding>& dims, const FactorRule::TensorMap& map, const std::vector<Factor>& factors) {
  static const DimSharding kOpen;
  Projection out;
  for (std::size_t d = 0; d < map.size(); ++d) project_dim(dims.empty() ? kOpen : dims[d], map[d], factors, out);
  return out;
}

Projection project(const Spec& spec, const FactorRule::TensorMap& map, const std::vector<Factor>& factors) {
  Projection out;
  for (std::size_t d = 0; d < map.size(); ++d) project_dim({spec[d], true}, map[d], factors, out);
  return out;
}

std::vector<DimSharding> unproject(const Projection& projection, const FactorRule::TensorMap& map, const std::vector<Factor>& factors) {
  std::vector<DimSharding> dims(map.size());
  for (std::size_t d = 0; d < map.size(); ++d) {
    for (int factor : map[d]) {
      const FactorSharding& sharding = *find(projection, factor);
      dims[d].closed |= sharding.closed;
      append(dims[d].axes, sharding.axes);
      append(dims[d].axes, sharding.overflow);
      if (!sharding.overflow.empty() || part_count(sharding.axes) < factors[std::size_t(factor)].size) break;
    }
  }
  return dims;
}

}  // namespace shardlab::spmd
