#include "runtime/spmd/overlap.h"

#include <algorithm>
#include <numeric>

namespace shardlab::spmd {
namespace {

// Counts, over all values of some digits, the elements that blocks under both specs share. Dimensions without a common digit are
// counted apart and multiplied.
class OverlapCount {
 public:
  OverlapCount(std::vector<DimCut> cuts, Axes digits) : cuts_(std::move(cuts)), digits_(std::move(digits)) {
    for (std::size_t k = 0; k < digits_.size(); ++k) {
      weights_.emplace_back();
      for (std::size_t d = 0; d < cuts_.size(); ++d) {
        Weight weight{d, weight_of(cuts_[d].from, digits_[k]) * cuts_[d].from_block,
                      weight_of(cuts_[d].to, digits_[k]) * cuts_[d].to_block};
        if (weight.from != 0 || weight.to != 0) weights_.back().push_back(weight);
      }
    }
    group_.resize(cuts_.size());
    std::iota(group_.begin(), group_.end(), 0);
    for (const auto& weights : weights_)
      for (const Weight& weight : weights) join(group_, weights[0].cut, weight.cut);
  }

  std::int64_t needed() const {
    std::int64_t count = 1;
    for (const DimCut& cut : cuts_) count *= cut.to_block;
    return count * part_count(digits_);
  }

  std::int64_t held() const {
    std::int64_t count = 1;
    // Digits between the pieces of one axis, which cut nothing: all of their values hold the same.
    for (std::size_t k = 0; k < digits_.size(); ++k)
      if (weights_[k].empty()) count *= digits_[k].size;
    for (std::size_t group = 0; group < cuts_.size() && count > 0; ++group)
      if (group_[group] == group) count *= held_in(group);
    return count;
  }

 private:
  static constexpr std::int64_t kCountedOneByOne = 32;

  struct Weight {
    std::size_t cut;
    std::int64_t from, to;  // how far one step of the digit moves the blocks' starts
  };
  struct Place {
    std::int64_t weight, radix;
    int number;
  };

  static std::int64_t weight_of(const Axes& axes, const AxisPiece& digit) {
    std::int64_t weight = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const AxisPiece& piece = axes[i];
      if (contains(piece, digit)) return weight * (piece.pre * piece.size / (digit.pre * digit.size));
      weight *= piece.size;
    }
    return 0;
  }

  // The two are of one class from now on; a class is called after its first member.
  template <typename Number>
  static void join(std::vector<Number>& classes, Number a, Number b) {
    Number from = std::max(classes[std::size_t(a)], classes[std::size_t(b)]),
           to = std::min(classes[std::size_t(a)], classes[std::size_t(b)]);
    std::replace(classes.begin(), classes.end(), from, to);
  }

  std::int64_t overlap(std::size_t group, const std::vector<std::pair<std::int64_t, std::int64_t>>& starts) const {
    std::int64_t count = 1;
    for (std::size_t d = group; d < cuts_.size() && count > 0; ++d) {
      if (group_[d] != group) continue;
      auto [from, to] = starts[d];
      count *= std::max<std::int64_t>(0, std::min(from + cuts_[d].from_block, to + cuts_[d].to_block) - std::max(from, to));
    }
    return count;
  }

  std::int64_t held_in(std::size_t group) const {
    std::vector<std::size_t> varied;
    std::int64_t values = 1;
    for (std::size_t k = 0; k < digits_.size(); ++k) {
      if (weights_[k].empty() || group_[weights_[k][0].cut] != group) continue;
      varied.push_back(k);
      values *= digits_[k].size;
    }
    if (values > kCountedOneByOne)
      if (auto count = held_by_places(group, varied)) return *count;
    return held_one_by_one(group, varied);
  }

  // An element's index along a dimension is a number in mixed radix whose places refine the cuts of both sides. A digit of the mesh is a
  // row of places on each side where it cuts; it is held where these rows agree, so places that must be equal count once.
  std::optional<std::int64_t> held_by_places(std::size_t group, const std::vector<std::size_t>& varied) const {
    std::vector<std::vector<Place>> places(cuts_.size());
    std::vector<std::int64_t> radix;
    for (std::size_t d = group; d < cuts_.size(); ++d) {
      if (group_[d] != group) continue;
      auto found = places_of(d, int(radix.size()));
      if (!found) return std::nullopt;
      for (const Place& place : *found) radix.push_back(place.radix);
      places[d] = *std::move(found);
    }
    std::vector<int> same(radix.size());
    std::iota(same.begin(), same.end(), 0);
    for (std::size_t k : varied) {
      std::vector<Place> first;
      for (const Weight& weight : weights_[k])
        for (std::int64_t from : {weight.from, weight.to}) {
          if (from == 0) continue;
          std::vector<Place> row;
          for (const Place& place : places[weight.cut])
            if (place.weight >= from && place.weight < from * digits_[k].size) row.push_back(place);
          if (first.empty()) first = row;
          if (!std::equal(row.begin(), row.end(), first.begin(), first.end(), [](auto& a, auto& b) { return a.radix == b.radix; }))
            return std::nullopt;
          for (std::size_t i = 0; i < row.size(); ++i) join(same, row[i].number, first[i].number);
        }
    }
    std::int64_t count = 1;
    for (int i = 0; i < int(radix.size()); ++i)
      if (same[std::size_t(i)] == i) count *= radix[std::size_t(i)];
    return count;
  }

  // The places of dimension d, minor first; nothing where the cuts of the two sides do not nest.
  std::optional<std::vector<Place>> places_of(std::size_t d, int first_number) const {
    std::int64_t size = cuts_[d].from_block * part_count(cuts_[d].from);
    std::vector<std::int64_t> bounds{1, cuts_[d].from_block, cuts_[d].to_block, size};
    for (std::size_t k = 0; k < digits_.size(); ++k)
      for (const Weight& weight : weights_[k])
        if (weight.cut == d)
          for (std::int64_t side : {weight.from, weight.to})
            if (side != 0) bounds.insert(bounds.end(), {side, side * digits_[k].size});
    std::sort(bounds.begin(), bounds.end());
    std::vector<Place> places;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      if (bounds[i + 1] % bounds[i] != 0) return std::nullopt;
      std::int64_t weight = bounds[i], rest = bounds[i + 1] / bounds[i];
      // Into primes, so that one row of places is as fine as another.
      for (std::int64_t prime = 2; rest > 1; ++prime) {
        if (prime * prime > rest) prime = rest;
        for (; rest % prime == 0; rest /= prime, weight *= prime) places.push_back({weight, prime, first_number + int(places.size())});
      }
    }
    return places;
  }

  std::int64_t held_one_by_one(std::size_t group, const std::vector<std::size_t>& varied) const {
    std::vector<std::int64_t> values(varied.size(), 0);
    std::vector<std::pair<std::int64_t, std::int64_t>> starts(cuts_.size());
    auto step = [&](std::size_t digit, std::int64_t by) {
      for (const Weight& weight : weights_[digit]) {
        starts[weight.cut].first += by * weight.from;
        starts[weight.cut].second += by * weight.to;
      }
    };
    std::int64_t count = 0;
    while (true) {
      count += overlap(group, starts);
      std::size_t i = 0;
      for (; i < varied.size(); ++i) {
        step(varied[i], 1);
        if (++values[i] < digits_[varied[i]].size) break;
        step(varied[i], -values[i]);
        values[i] = 0;
      }
      if (i == varied.size()) return count;
    }
  }

  std::vector<DimCut> cuts_;
  Axes digits_;
  std::vector<std::vector<Weight>> weights_;  // per digit
  std::vector<std::size_t> group_;            // per dimension: the first dimension that it shares digits with
};

}  // namespace

std::int64_t missing_under(std::vector<DimCut> cuts, Axes digits) {
  OverlapCount overlap(std::move(cuts), std::move(digits));
  return overlap.needed() - overlap.held();
}

}  // namespace shardlab::spmd
