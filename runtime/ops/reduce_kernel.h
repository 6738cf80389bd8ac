// Combines the elements along axes; for reduce.cpp alone.
//
// The order of combination depends on the operand's shape and the axes alone. Up to 16 elements are combined from left to right in
// row-major order; longer rows of a contiguous axis in 16 lanes of at most 16 elements (of max and min in 64 of 64), lanes and blocks as
// balanced trees, so that the error of a sum grows with the logarithm of the count.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "runtime/ops/combine.h"
#include "runtime/ops/isa.h"
#include "runtime/ops/reducers.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops::reduction {

inline constexpr std::int64_t kLeftToRightMax = 16;
// Of max and min each lane is a choice, which GCC makes branches of unless it has a loop over more lanes than it would unroll.
template <typename F>
inline constexpr bool kChooses = std::is_same_v<F, Max> || std::is_same_v<F, Min>;
template <typename F>
inline constexpr std::int64_t kLanes = kChooses<F> ? 64 : 16;
template <typename F>  // elements of a contiguous run that are combined in lanes
inline constexpr std::int64_t kBlock = kLanes<F> * (kChooses<F> ? 64 : 16);
inline constexpr std::int64_t kTile = 256;  // columns that are combined together

// Walks the row-major positions of some dimensions, as offsets in elements.
struct Walk {
  Shape sizes, strides;
  std::int64_t count() const { return element_count(sizes); }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t result = 0;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      result += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    return result;
  }
};

// A contiguous run of `count` elements to one.
template <typename F, typename T>
struct RunLoop {
  SHARDLAB_INLINE static void run(const T* x, std::int64_t count, T* result) { *result = block(x, count); }

 private:
  SHARDLAB_INLINE static T block(const T* x, std::int64_t count) {
    prefetch_ahead(x, count);
    T lanes[kLanes<F>];
    for (std::int64_t l = 0; l < kLanes<F>; ++l) lanes[l] = F::template identity<T>();
    std::int64_t rows = count / kLanes<F>;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t l = 0; l < kLanes<F>; ++l) lanes[l] = F::combine(lanes[l], x[r * kLanes<F> + l]);
    for (std::int64_t l = 0; l < count - rows * kLanes<F>; ++l) lanes[l] = F::combine(lanes[l], x[rows * kLanes<F> + l]);
    for (std::int64_t half = kLanes<F> / 2; half > 0; half /= 2)
      for (std::int64_t l = 0; l < half; ++l) lanes[l] = F::combine(lanes[l], lanes[l + half]);
    return lanes[0];
  }
};

// accumulator[j] = F(accumulator[j], x[j]).
template <typename F, typename T>
struct RowLoop {
  SHARDLAB_INLINE static void run(T* accumulator, const T* x, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < count; ++j) accumulator[j] = F::combine(accumulator[j], x[j]);
  }
};

template <typename F, typename T>
class Reducer {
 public:
  Reducer(const T* in, T* out, Walk kept, Walk reduced, std::int64_t inner, bool inner_is_reduced)
      : in_(in), out_(out), kept_(std::move(kept)), reduced_(std::move(reduced)), inner_(inner), inner_is_reduced_(inner_is_reduced) {}

  void run() {
    std::int64_t kept_count = kept_.count();
    if (!inner_is_reduced_) {
      for (std::int64_t k = 0; k < kept_count; ++k)
        for (std::int64_t column = 0; column < inner_; column += kTile)
          columns(in_ + kept_.offset(k) + column, 0, reduced_.count(), out_ + k * inner_ + column, std::min(kTile, inner_ - column));
      return;
    }
    std::int64_t rows = reduced_.count();
    for (std::int64_t k = 0; k < kept_count; ++k) {
      const T* from = in_ + kept_.offset(k);
      out_[k] = rows * inner_ <= kLeftToRightMax ? left_to_right(from, rows) : tree_of_runs(from, 0, rows);
    }
  }

 private:
  // `width` neighbouring results at once, over rows [first, last) of the reduced dimensions.
  void columns(const T* from, std::int64_t first, std::int64_t last, T* result, std::int64_t width) {
    std::int64_t count = last - first;
    if (count <= kLeftToRightMax) {
      std::fill_n(result, width, F::template identity<T>());
      for (std::int64_t r = first; r < last; ++r) row_(result, from + reduced_.offset(r), width);
      return;
    }
    std::int64_t middle = first + split(count, kLeftToRightMax);
    T right[kTile];
    columns(from, first, middle, result, width);
    columns(from, middle, last, right, width);
    row_(result, right, width);
  }
  T left_to_right(const T* from, std::int64_t rows) {
    T result = F::template identity<T>();
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = from + reduced_.offset(r);
      for (std::int64_t i = 0; i < inner_; ++i) result = F::combine(result, row[i]);
    }
    return result;
  }
  T tree_of_runs(const T* from, std::int64_t first, std::int64_t last) {
    if (last - first == 0) return F::template identity<T>();
    if (last - first == 1) return tree_of_blocks(from + reduced_.offset(first), inner_);
    std::int64_t middle = first + (last - first + 1) / 2;
    T left = tree_of_runs(from, first, middle);
    return F::combine(left, tree_of_runs(from, middle, last));
  }
  T tree_of_blocks(const T* x, std::int64_t count) {
    if (count <= kBlock<F>) {
      T result;
      run_(x, count, &result);
      return result;
    }
    std::int64_t left_count = split(count, kBlock<F>);
    T left = tree_of_blocks(x, left_count);
    return F::combine(left, tree_of_blocks(x + left_count, count - left_count));
  }
  // Half of `count`, rounded up to whole blocks.
  static std::int64_t split(std::int64_t count, std::int64_t block) { return ((count + block - 1) / block + 1) / 2 * block; }

  const T* in_;
  T* out_;
  Walk kept_, reduced_;
  std::int64_t inner_;
  bool inner_is_reduced_;
  void (*row_)(T*, const T*, std::int64_t) = VersionFor<RowLoop<F, T>, T>::template choose<T*, const T*, std::int64_t>();
  void (*run_)(const T*, std::int64_t, T*) = VersionFor<RunLoop<F, T>, T>::template choose<const T*, std::int64_t, T*>();
};

// Neighbouring dimensions of one kind become one; the innermost is walked by loops, the others by offsets.
template <typename F, typename T>
void reduce(const ConstView& operand, const MutableView& result, const std::vector<bool>& is_reduced) {
  if (result.type.elements() == 0) return;
  if (operand.type.elements() == 0) {
    std::fill_n(result.as<T>(), result.type.elements(), F::template identity<T>());
    return;
  }
  const Shape& shape = operand.type.shape;
  std::vector<std::pair<std::int64_t, bool>> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!dims.empty() && dims.back().second == is_reduced[d])
      dims.back().first *= shape[d];
    else
      dims.push_back({shape[d], is_reduced[d]});
  }
  std::int64_t inner = 1;
  bool inner_is_reduced = false;
  if (!dims.empty()) {
    std::tie(inner, inner_is_reduced) = dims.back();
    dims.pop_back();
  }
  Walk kept, reduced;
  std::int64_t stride = element_count(shape);
  for (auto [size, reduces] : dims) {
    stride /= size;
    Walk& walk = reduces ? reduced : kept;
    walk.sizes.push_back(size);
    walk.strides.push_back(stride);
  }
  Reducer<F, T>(operand.as<T>(), result.as<T>(), std::move(kept), std::move(reduced), inner, inner_is_reduced).run();
}

// 16-bit floats are combined in float and rounded at the end.
template <typename F, Half H>
void reduce_half(const ConstView& operand, const MutableView& result, const std::vector<bool>& is_reduced) {
  std::vector<float> wide(std::size_t(operand.type.elements())), combined(std::size_t(result.type.elements()));
  widen(operand.as<H>(), wide.data(), operand.type.elements());
  ConstView from{{DType::kFloat32, operand.type.shape}, reinterpret_cast<const std::byte*>(wide.data()), operand.box, operand.array};
  MutableView to{{DType::kFloat32, result.type.shape}, reinterpret_cast<std::byte*>(combined.data()), result.box};
  reduce<F, float>(from, to, is_reduced);
  narrow(combined.data(), result.as<H>(), result.type.elements());
}

}  // namespace shardlab::ops::reduction
