// Positions of a mesh that share one computation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace shardlab {

// Keys of positions, words one after another: for every step of every launch, so with few allocations.
class PositionKeys {
 public:
  explicit PositionKeys(std::size_t positions) { positions_.reserve(positions); }
  // What is added from here on is of this position.
  void begin(int position) { positions_.push_back({position, words_.size()}); }
  void add(std::int64_t word) { words_.push_back(word); }

  // Those with the same key, in their order; a class comes where its first position does.
  std::vector<std::vector<int>> classes() const {
    std::vector<std::size_t> order(positions_.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(key(a), key(b)); });
    std::vector<std::vector<int>> classes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || !std::ranges::equal(key(order[i - 1]), key(order[i]))) classes.emplace_back();
      classes.back().push_back(int(order[i]));
    }
    std::sort(classes.begin(), classes.end());
    for (std::vector<int>& each : classes)
      for (int& entry : each) entry = positions_[std::size_t(entry)].position;
    return classes;
  }

 private:
  struct Entry {
    int position;
    std::size_t first;  // of its words
  };
  std::span<const std::int64_t> key(std::size_t i) const {
    const std::size_t end = i + 1 < positions_.size() ? positions_[i + 1].first : words_.size();
    return {words_.data() + positions_[i].first, end - positions_[i].first};
  }

  std::vector<Entry> positions_;
  std::vector<std::int64_t> words_;
};

}  // namespace shardlab
