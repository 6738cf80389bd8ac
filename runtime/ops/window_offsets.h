// Where windows at computed places lie in a part of an array (gather, scatter).
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/ops/index_values.h"

namespace shardlab::ops {

// For each index vector the offset of its window in the part, in elements, unless the window begins outside of the part.
class WindowOffsets {
 public:
  // `batch_shape`: that of the index vectors.
  WindowOffsets(const ConstView& indices, Shape batch_shape) : indices_(indices), batch_shape_(std::move(batch_shape)) {}

  // A dimension of the array, of which the part has `here`.
  struct Dim {
    Interval here;
    std::int64_t stride = 0;
  };
  // Its start is number `i` of the index vector, moved into [low, high].
  void add_index(std::int64_t i, const Dim& dim, std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                 std::int64_t high = std::numeric_limits<std::int64_t>::max()) {
    starts_.push_back({.index = i, .low = low, .high = high, .dim = dim});
    add_start(-dim.here.start, dim.stride);
  }
  // Its start is `first` + the place along dimension `batch_dim` of the index vectors.
  void add_batch(std::size_t batch_dim, std::int64_t first, const Dim& dim) {
    starts_.push_back({.batch_dim = int(batch_dim), .first = first, .dim = dim});
    add_start(-dim.here.start, dim.stride);
  }
  // Its start is the same for all, in the part.
  void add_start(std::int64_t start, std::int64_t stride) { constant_ += start * stride; }

  // visit(offset of the window, offset of the index vector in an array with `batch_strides`), in order.
  template <typename Visit>
  void each(const Shape& batch_strides, Visit visit) const {
    const std::int64_t depth = indices_.type.shape.back(), count = element_count(batch_shape_);
    const std::int64_t row = batch_shape_.empty() ? 1 : batch_shape_.back(), step = batch_strides.empty() ? 0 : batch_strides.back();
    const bool by_one_number = starts_.size() == 1 && starts_[0].index >= 0;  // the common case
    std::vector<std::int64_t> numbers(std::size_t(std::min(row, kAtOnce) * depth));
    Shape at(batch_shape_.size(), 0);
    for (std::int64_t n = 0; n < count; n += row) {
      std::int64_t other = 0;
      for (std::size_t d = 0; d + 1 < at.size(); ++d) other += at[d] * batch_strides[d];
      for (std::int64_t first = 0; first < row; first += kAtOnce) {
        const std::int64_t size = std::min(kAtOnce, row - first);
        read_indices(indices_, (n + first) * depth, size * depth, numbers.data());
        const std::int64_t* vector = numbers.data();
        for (std::int64_t i = 0; i < size; ++i, vector += depth, other += step) {
          std::int64_t offset = constant_;
          bool is_here = true;
          if (by_one_number) {
            is_here = add_offset(starts_[0], vector[starts_[0].index], offset);
          } else {
            if (!at.empty()) at.back() = first + i;
            for (const Start& start : starts_)
              is_here &= add_offset(start, start.index >= 0 ? vector[start.index] : start.first + at[std::size_t(start.batch_dim)], offset);
          }
          if (is_here) visit(offset, other);
        }
      }
      for (std::size_t d = at.size(); d-- > 1;) {
        if (++at[d - 1] < batch_shape_[d - 1]) break;
        at[d - 1] = 0;
      }
    }
  }

 private:
  static constexpr std::int64_t kAtOnce = 512;  // index vectors that are read together: few enough to stay in the cache
  struct Start {
    std::int64_t index = -1;  // of the index vector, or
    int batch_dim = -1;
    std::int64_t first = 0;
    std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
    Dim dim;
  };
  // False where the window begins outside of the part; that may be at any number, which nothing is multiplied with.
  static bool add_offset(const Start& start, std::int64_t number, std::int64_t& offset) {
    const std::int64_t place = std::clamp(number, start.low, start.high);
    if (place < start.dim.here.start || place >= start.dim.here.stop) return false;
    offset += place * start.dim.stride;
    return true;
  }
  const ConstView& indices_;
  Shape batch_shape_;
  std::vector<Start> starts_;
  std::int64_t constant_ = 0;
};

// visit(offset by a, offset by b) of each element of a box of this shape, in order.
template <typename Visit>
void for_each_offset(const Shape& shape, const Shape& a, const Shape& b, Visit visit) {
  const std::int64_t count = element_count(shape);
  Shape at(shape.size(), 0);
  std::int64_t left = 0, right = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    visit(left, right);
    for (std::size_t d = shape.size(); d-- > 0;) {
      left += a[d], right += b[d];
      if (++at[d] < shape[d]) break;
      left -= at[d] * a[d], right -= at[d] * b[d];
      at[d] = 0;
    }
  }
}

// Calls f with bytes of a number's size, where it is one of those that a register holds; false where not.
template <typename F>
bool with_item(std::int64_t size, F f) {
  switch (size) {
    case 1:
      return f(std::uint8_t()), true;
    case 2:
      return f(std::uint16_t()), true;
    case 4:
      return f(std::uint32_t()), true;
    case 8:
      return f(std::uint64_t()), true;
    default:
      return false;
  }
}

}  // namespace shardlab::ops
