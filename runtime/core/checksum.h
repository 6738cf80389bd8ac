// What is told of an array's values without the values: a hash of every bit, and numbers by which two arrays are told to be near.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/core/tensor_type.h"

namespace shardlab {

// Of the numbers at some indices of an array; those of disjoint parts add up, whatever the cut. An element is one number, a complex one
// two: its parts, at twice its index and after it. Everything is by the index in the whole array, row-major; padding is not in it.
//
// hash: the sum, modulo 2^64, of mix(mix(index) ^ bits) over the numbers, where mix is degski's 64-bit mixer and bits are the number's own,
// unsigned. So equal hashes mean equal bits but for one chance in 2^64.
// sketches: sums of the finite numbers with a sign each, which bits 0 to 3 of mix(index) choose. Of two arrays, the mean square of the
// sketches' differences is an estimate of the sum of squares of their elements' differences (Alon, Matias, Szegedy 1996), so rounding is
// told from another order of the same numbers without the numbers.
struct Checksum {
  static constexpr int kSketches = 4;

  std::uint64_t hash = 0;
  std::int64_t numbers = 0, nans = 0, infinities = 0;
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();  // of the finite ones
  double sum = 0, squares = 0;  // of the finite ones, and of their squares
  std::array<double, kSketches> sketches{};

  void add(const Checksum& other);
  bool any_finite() const { return min <= max; }
  double norm() const { return std::sqrt(squares); }
};

// Of the elements `first` to `last` - 1 of a box, in its row-major order. `data` has all of the box, densely; `shape` is the whole array's.
Checksum checksum_of(DType dtype, const std::byte* data, const Shape& shape, const Box& box, std::int64_t first, std::int64_t last);
Checksum checksum_of(DType dtype, const std::byte* data, const Shape& shape, const Box& box);

// How far two arrays of one shape are from each other, as their checksums tell.
enum class Likeness : std::uint8_t { kEqual, kRounding, kDifferent };

// The norm of the difference over the larger of the norms, estimated; 0 for equal hashes. Infinite where one has more NaNs or infinities.
double relative_distance(const Checksum& a, const Checksum& b);
// Distances up to here are called rounding: some hundred units in the last place, as a sum in another order leaves; 0 for integers.
double rounding_max(DType dtype);
Likeness likeness(DType dtype, const Checksum& a, const Checksum& b);

}  // namespace shardlab
