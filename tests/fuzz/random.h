// The choices of a random program: the same for a seed on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace shardlab::fuzz {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int limit) { return limit <= 1 ? 0 : int(engine_() % unsigned(limit)); }
  bool one_in(int n) { return below(n) == 0; }
  double uniform(double low, double high) { return low + (high - low) * double(engine_()) / 4294967296.0; }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values[std::size_t(below(int(values.size())))];
  }
  template <typename T, std::size_t N>
  const T& of(const T (&values)[N]) {
    return values[std::size_t(below(int(N)))];
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[std::size_t(below(int(i)))]);
  }
  std::vector<int> order(std::size_t count) {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    shuffle(numbers);
    return numbers;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace shardlab::fuzz
