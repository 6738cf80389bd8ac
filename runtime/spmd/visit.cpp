#include "runtime/spmd/visit.h"

#include <algorithm>
#include <numeric>

namespace shardlab::spmd {
namespace {

// The longest list that tensors agree on, grown tensor by tensor.
struct CommonList {
  Axes axes;
  bool may_grow = true;

  // False where the lists clash at this place: the common list ends here.
  bool merge_piece(const AxisPiece& old_piece, const AxisPiece& new_piece, bool old_ends, bool new_ends) {
    if (old_piece == new_piece) {
      axes.push_back(old_piece);
      return true;
    }
    if (is_prefix(new_piece, old_piece)) {
      axes.push_back(new_ends ? old_piece : new_piece);
      return new_ends;
    }
    if (is_prefix(old_piece, new_piece)) {
      bool take_longer = may_grow && old_ends;
      axes.push_back(take_longer ? new_piece : old_piece);
      return take_longer;
    }
    return false;
  }

  void merge(const Axes& other) {
    Axes old = std::move(axes);
    axes.clear();
    std::size_t i = 0;
    for (; i < old.size() && i < other.size(); ++i) {
      if (!merge_piece(old[i], other[i], i + 1 == old.size(), i + 1 == other.size())) {
        may_grow = false;
        return;
      }
    }
    axes.insert(axes.end(), old.begin() + std::ptrdiff_t(i), old.end());
    if (may_grow) axes.insert(axes.end(), other.begin() + std::ptrdiff_t(i), other.end());
  }
};

Axes common_list(const Visit& visit, int factor) {
  Direction direction = visit.directions[std::size_t(factor)];
  CommonList list;
  if (direction == Direction::kNone) return {};
  bool backward = direction == Direction::kBackward;
  auto merge_all = [&](const std::vector<Projection>& tensors) {
    for (const Projection& tensor : tensors)
      if (const FactorSharding* sharding = find(tensor, factor)) list.merge(sharding->axes);
  };
  merge_all(backward ? visit.results : visit.operands);
  if (direction != Direction::kBoth) list.may_grow = false;
  merge_all(backward ? visit.operands : visit.results);
  return list.axes;
}

// The major part of `piece` that the factor can take in a tensor, after `taken` parts of the list; nothing where it cannot.
std::optional<AxisPiece> cut_within(const AxisPiece& piece, const FactorSharding& sharding, std::int64_t taken, std::int64_t size) {
  for (const AxisPiece& held : sharding.axes)
    if (contains(held, piece)) return piece;
  if (!sharding.closed && sharding.overflow.empty()) {
    if (sharding.minor_most) return piece;
    if (size % taken == 0) {
      std::int64_t common = std::gcd(size / taken, piece.size);
      if (common == piece.size) return piece;
      if (common != 1) return AxisPiece{piece.axis, piece.pre, common};
    }
  }
  if (!sharding.axes.empty() && is_prefix(sharding.axes.back(), piece)) return sharding.axes.back();
  return std::nullopt;
}

// The major part of `piece` that overlaps nothing another factor of the tensor holds.
std::optional<AxisPiece> cut_across(AxisPiece piece, const Projection& tensor, int factor) {
  for (const FactorSharding& other : tensor) {
    if (other.factor == factor) continue;
    for (const Axes* pieces : {&other.overflow, &other.axes}) {
      auto kept = cut(piece, *pieces);
      if (!kept) return std::nullopt;
      piece = *kept;
    }
  }
  return piece;
}

template <typename Cut>
Axes truncated(const Axes& axes, Cut&& cut_piece) {
  Axes kept;
  std::int64_t taken = 1;
  for (const AxisPiece& piece : axes) {
    std::optional<AxisPiece> part = cut_piece(piece, taken);
    if (!part) break;
    kept.push_back(*part);
    if (*part != piece) break;
    taken *= part->size;
  }
  return kept;
}

struct Source {
  int tensor = -1;
  std::int64_t size = -1;
};

// Runs one visit; holds what its steps share.
class Extender {
 public:
  explicit Extender(Visit visit) : visit_(std::move(visit)) {}

  std::vector<Change> run() {
    int factor_count = int(visit_.rule.factors.size());
    bool any = false;
    for (int f = 0; f < factor_count; ++f) {
      lists_.push_back(common_list(visit_, f));
      any |= !lists_.back().empty();
    }
    if (!any) return {};
    find_sources();
    order_factors();
    int operand_count = int(visit_.operands.size());
    for (int k = 0; k < int(visit_.results.size()); ++k) extend_tensor(visit_.results[std::size_t(k)], operand_count + k, false);
    for (int k = 0; k < operand_count; ++k) extend_tensor(visit_.operands[std::size_t(k)], k, true);
    return std::move(changes_);
  }

 private:
  // Of each factor the largest tensor that already holds the common list.
  void find_sources() {
    sources_.resize(lists_.size());
    int tensor = 0;
    for (const auto* group : {&visit_.operands, &visit_.results}) {
      for (const Projection& projection : *group) {
        std::int64_t size = 1;
        for (const FactorSharding& sharding : projection)
          if (sharding.factor != kBarred) size *= factor_size(sharding.factor);
        for (const FactorSharding& sharding : projection) {
          if (sharding.factor == kBarred) continue;
          const Axes& list = lists_[std::size_t(sharding.factor)];
          Source& source = sources_[std::size_t(sharding.factor)];
          if (!list.empty() && prefix_kind(list, sharding.axes) != PrefixKind::kNone && size > source.size) source = {tensor, size};
        }
        ++tensor;
      }
    }
  }

  void order_factors() {
    order_.resize(lists_.size());
    std::iota(order_.begin(), order_.end(), 0);
    auto key = [&](int f) {
      const Source& source = sources_[std::size_t(f)];
      std::int64_t parts = visit_.elementwise ? part_count(lists_[std::size_t(f)]) : 0;
      return std::tuple(-source.size, -parts, source.tensor, f);
    };
    std::sort(order_.begin(), order_.end(), [&](int a, int b) { return key(a) < key(b); });
  }

  void extend_tensor(Projection& tensor, int index, bool is_operand) {
    for (int factor : order_)
      if (FactorSharding* sharding = find(tensor, factor)) extend_factor(tensor, *sharding, index, is_operand);
  }

  void extend_factor(Projection& tensor, FactorSharding& sharding, int index, bool is_operand) {
    int factor = sharding.factor;
    Axes axes = truncated(lists_[std::size_t(factor)], [&](const AxisPiece& piece, std::int64_t taken) {
      return cut_within(piece, sharding, taken, factor_size(factor));
    });
    if (prefix_kind(sharding.axes, axes) != PrefixKind::kStrict) return;
    axes = truncated(axes, [&](const AxisPiece& piece, std::int64_t) { return cut_across(piece, tensor, factor); });
    if (axes.empty()) return;
    if (is_operand && visit_.elementwise) axes = as_in_a_result(factor, std::move(axes));
    if (prefix_kind(sharding.axes, axes) != PrefixKind::kStrict) return;
    sharding.axes = std::move(axes);
    changes_.push_back({index, factor, sources_[std::size_t(factor)].tensor});
  }

  // An elementwise operand takes no more than a result that got a prefix of the list.
  Axes as_in_a_result(int factor, Axes axes) const {
    for (const Projection& result : visit_.results) {
      const FactorSharding* sharding = find(result, factor);
      if (sharding != nullptr && prefix_kind(sharding->axes, axes) == PrefixKind::kStrict) axes = sharding->axes;
    }
    return axes;
  }

  std::int64_t factor_size(int factor) const { return visit_.rule.factors[std::size_t(factor)].size; }

  Visit visit_;
  std::vector<Axes> lists_;  // per factor, what the tensors agree on
  std::vector<Source> sources_;
  std::vector<int> order_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> extend_factors(Visit visit) { return Extender(std::move(visit)).run(); }

}  // namespace shardlab::spmd
