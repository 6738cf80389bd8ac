// Elementwise kernels from functors: the tile function for given dtypes, the whole-shard kernel, the shape rule.
//
// A functor F has overloads of operator() for the element types it takes; its result type says the result's dtype. It may have
// `static bool is_hard(T)` and `static R hard(T)` for rare arguments that the vectorised operator() does not cover.
#pragma once

#include <array>
#include <type_traits>

#include "runtime/ops/isa.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {

inline constexpr std::array kAllDTypes = {DType::kBool, DType::kInt32, DType::kUint32, DType::kFloat32, DType::kComplex64};

template <typename F, typename T>
concept HasHardCases = requires(T x) { F::is_hard(x); };

// result[i] = F(operands[k][i * strides[k]]…); the result may be one of the operands.
template <typename F, typename... T>
struct TileLoop {
  using R = std::invoke_result_t<F, T...>;

  SHARDLAB_INLINE static void run(const void* const* operands, const int* strides, void* result, std::int64_t count) {
    run_indexed(operands, strides, static_cast<R*>(result), count, std::index_sequence_for<T...>());
  }

 private:
  template <std::size_t... I>
  SHARDLAB_INLINE static void run_indexed(const void* const* operands, const int* strides, R* result, std::int64_t count,
                                          std::index_sequence<I...>) {
    if constexpr (sizeof...(T) == 1 && (HasHardCases<F, T> && ...)) {
      if (((strides[I] == 1) && ...)) return run_with_hard_cases(static_cast<const T*>(operands[I])..., result, count);
    }
    if (((strides[I] == 1) && ...)) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) result[i] = apply(static_cast<const T*>(operands[I])[i]...);
    } else {
      for (std::int64_t i = 0; i < count; ++i) result[i] = apply(static_cast<const T*>(operands[I])[i * strides[I]]...);
    }
  }
  SHARDLAB_INLINE static R apply(T... x) {
    if constexpr ((HasHardCases<F, T> && ...)) {
      if ((F::is_hard(x) && ...)) return F::hard(x...);
    }
    return F()(x...);
  }
  template <typename X>
  SHARDLAB_INLINE static void run_with_hard_cases(const X* x, R* result, std::int64_t count) {
    constexpr std::int64_t kChunk = 512;
    for (std::int64_t start = 0; start < count; start += kChunk) {
      std::int64_t size = count - start < kChunk ? count - start : kChunk;
      int hard = 0;
      for (std::int64_t i = 0; i < size; ++i) hard |= int(F::is_hard(x[start + i]));
      if (hard) {
        for (std::int64_t i = start; i < start + size; ++i) result[i] = apply(x[i]);
      } else {
#pragma GCC ivdep
        for (std::int64_t i = start; i < start + size; ++i) result[i] = F()(x[i]);
      }
    }
  }
};

template <typename F, typename... T>
TileFn tile_of_types() {
  return best_version<TileLoop<F, T...>, const void* const*, const int*, void*, std::int64_t>();
}

// Result dtype of F on these operand dtypes, all the same, or nothing.
template <typename F, int kOperands>
std::optional<DType> result_dtype(DType operand) {
  return visit_dtype(operand, [](auto x) -> std::optional<DType> {
    using T = decltype(x);
    if constexpr (kOperands == 1 && std::is_invocable_v<F, T>)
      return dtype_of<std::invoke_result_t<F, T>>::value;
    else if constexpr (kOperands == 2 && std::is_invocable_v<F, T, T>)
      return dtype_of<std::invoke_result_t<F, T, T>>::value;
    else
      return std::nullopt;
  });
}

template <typename F, int kOperands>
TileFn tile_of(std::span<const DType> operands, DType) {
  return visit_dtype(operands[0], [&](auto x) -> TileFn {
    using T = decltype(x);
    if constexpr (kOperands == 1 && std::is_invocable_v<F, T>)
      return tile_of_types<F, T>();
    else if constexpr (kOperands == 2 && std::is_invocable_v<F, T, T>)
      return tile_of_types<F, T, T>();
    else
      throw InternalError("no tile for this dtype");
  });
}

// The kernel of a whole shard from a tile selector (an OpDef's `tile`).
using TileSelector = TileFn (*)(std::span<const DType>, DType);
void run_tile(TileSelector selector, const KernelArgs& args);

template <TileSelector kSelector>
void elementwise_kernel(const KernelArgs& args) {
  run_tile(kSelector, args);
}

// UserError where the shapes or dtypes of the operands differ, with JAX's texts.
void check_same_types(const OpDef& op, const std::vector<TensorType>& types);
[[noreturn]] void throw_dtype_refused(const OpDef& op, DType got, std::span<const DType> accepted);

template <typename F, int kOperands>
std::vector<TensorType> elementwise_infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  check_same_types(op, types);
  std::optional<DType> dtype = result_dtype<F, kOperands>(types[0].dtype);
  if (!dtype) {
    std::vector<DType> accepted;
    for (DType candidate : kAllDTypes)
      if (result_dtype<F, kOperands>(candidate)) accepted.push_back(candidate);
    throw_dtype_refused(op, types[0].dtype, accepted);
  }
  return {{*dtype, types[0].shape}};
}

template <typename F, int kOperands>
std::vector<Sample> elementwise_samples() {
  std::vector<Sample> samples;
  for (DType dtype : kAllDTypes)
    if (result_dtype<F, kOperands>(dtype))
      for (const Shape& shape : sample_shapes()) samples.push_back({std::vector<TensorType>(kOperands, {dtype, shape}), {}});
  return samples;
}

}  // namespace shardlab::ops
