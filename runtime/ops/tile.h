// Elementwise kernels from functors: the tile function for given dtypes, the whole-shard kernel, the shape rule.
//
// A functor F has overloads of operator() for the element types it takes; its result type says the result's dtype. It may have
// `static bool is_hard(T…)` and `static R hard(T…)` for rare arguments that the vectorised operator() does not cover.
//
// 16-bit floats are computed in float and rounded once, by whatever F does for float. The common dtypes are compiled for every level of
// runtime/ops/isa.h; for the others (narrow and wide integers, double) code size counts for more.
#pragma once

#include <tuple>
#include <type_traits>

#include "runtime/ops/half_loops.h"
#include "runtime/ops/isa.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {

template <typename F, typename... T>
concept HasHardCases = requires(T... x) { F::is_hard(x...); };

// result[i] = F(operands[k][i * strides[k]]…) with strides 1 and, for scalars, 0; the result may be one of the operands.
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
    if (((strides[I] == 1) && ...)) {
      run_chunk(result, count, static_cast<const T*>(operands[I])...);
    } else {
      run_with_scalars<I...>(operands, strides, result, count);
    }
  }
  // Scalars become short vectors first: one loop serves every choice of scalars, and it is as fast as that of equal strides.
  template <std::size_t... I>
  SHARDLAB_INLINE static void run_with_scalars(const void* const* operands, const int* strides, R* result, std::int64_t count) {
    constexpr std::int64_t kChunk = 512;
    std::tuple<Spread<T, kChunk>...> spread;
    const std::int64_t filled = count < kChunk ? count : kChunk;
    ((strides[I] == 0 ? std::get<I>(spread).fill(*static_cast<const T*>(operands[I]), filled) : void()), ...);
    for (std::int64_t start = 0; start < count; start += kChunk) {
      const std::int64_t size = count - start < kChunk ? count - start : kChunk;
      run_chunk(result + start, size, (strides[I] == 0 ? std::get<I>(spread).data : static_cast<const T*>(operands[I]) + start)...);
    }
  }
  SHARDLAB_INLINE static void run_chunk(R* result, std::int64_t count, const T*... operands) {
    if constexpr (HasHardCases<F, T...>) {
      run_with_hard_cases(result, count, operands...);
    } else {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) result[i] = F()(operands[i]...);
    }
  }
  template <typename X, std::int64_t kChunk>
  struct Spread {
    alignas(64) X data[kChunk];
    Spread() {}  // NOLINT(*-equals-default): filled where it is used
    SHARDLAB_INLINE void fill(X x, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) data[i] = x;
    }
  };
  SHARDLAB_INLINE static void run_with_hard_cases(R* result, std::int64_t count, const T*... x) {
    constexpr std::int64_t kChunk = 512;
    for (std::int64_t start = 0; start < count; start += kChunk) {
      const std::int64_t end = count - start < kChunk ? count : start + kChunk;
      int hard = 0;
      for (std::int64_t i = start; i < end; ++i) hard |= int(F::is_hard(x[i]...));
      if (hard) {
        for (std::int64_t i = start; i < end; ++i) result[i] = F::is_hard(x[i]...) ? F::hard(x[i]...) : F()(x[i]...);
      } else {
#pragma GCC ivdep
        for (std::int64_t i = start; i < end; ++i) result[i] = F()(x[i]...);
      }
    }
  }
};

template <typename T>
inline constexpr bool kHasVersions = std::is_same_v<T, bool> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> ||
                                     std::is_same_v<T, float> || std::is_same_v<T, Complex64>;

template <typename Loop, typename... T>
struct VersionFor {
  template <typename... Args>
  static auto choose() -> void (*)(Args...) {
    if constexpr ((kHasVersions<T> && ...))
      return best_version<Loop, Args...>();
    else
      return &run_baseline<Loop, Args...>;
  }
};

template <typename T>
using Widened = std::conditional_t<Half<T>, float, T>;

template <typename F, typename... T>
TileFn tile_of_types();

// Chunk by chunk: to float, F, and back where its result is a float.
template <typename F, Half H, std::size_t kOperands, typename... Floats>
void half_tile(const void* const* operands, const int* strides, void* result, std::int64_t count) {
  using R = std::invoke_result_t<F, Floats...>;
  constexpr std::int64_t kChunk = 256;
  static const TileFn inner = tile_of_types<F, Floats...>();
  float inputs[kOperands][kChunk], output[kChunk];
  const void* addresses[kOperands];
  for (std::size_t k = 0; k < kOperands; ++k) addresses[k] = inputs[k];
  for (std::int64_t start = 0; start < count; start += kChunk) {
    std::int64_t size = count - start < kChunk ? count - start : kChunk;
    for (std::size_t k = 0; k < kOperands; ++k) {
      const H* from = static_cast<const H*>(operands[k]);
      widen(strides[k] == 0 ? from : from + start, inputs[k], strides[k] == 0 ? 1 : size);
    }
    if constexpr (std::is_same_v<R, float>) {
      inner(addresses, strides, output, size);
      narrow(output, static_cast<H*>(result) + start, size);
    } else {
      inner(addresses, strides, static_cast<R*>(result) + start, size);
    }
  }
}

template <typename F, typename... T>
TileFn tile_of_types() {
  using First = std::tuple_element_t<0, std::tuple<T...>>;
  if constexpr (Half<First>)
    return &half_tile<F, First, sizeof...(T), Widened<T>...>;
  else
    return VersionFor<TileLoop<F, T...>, T...>::template choose<const void* const*, const int*, void*, std::int64_t>();
}

// F on operands of one type each.
template <typename F, typename T, typename Places>
struct OfOneType;
template <typename F, typename T, std::size_t... place>
struct OfOneType<F, T, std::index_sequence<place...>> {
  template <std::size_t>
  using Each = T;
  static constexpr bool kTaken = std::is_invocable_v<F, Widened<Each<place>>...>;
  static auto result() { return std::type_identity<std::invoke_result_t<F, Widened<Each<place>>...>>(); }
  static TileFn tile() { return tile_of_types<F, Each<place>...>(); }
};

// Result dtype of F on these operand dtypes, all the same, or nothing.
template <typename F, int kOperands>
std::optional<DType> result_dtype(DType operand) {
  return visit_dtype(operand, [&](auto x) -> std::optional<DType> {
    using Call = OfOneType<F, decltype(x), std::make_index_sequence<kOperands>>;
    auto of = [&]<typename R>(std::type_identity<R>) {
      return Half<decltype(x)> && std::is_same_v<R, float> ? operand : dtype_of<R>::value;
    };
    if constexpr (Call::kTaken)
      return of(Call::result());
    else
      return std::nullopt;
  });
}

template <typename F, int kOperands>
TileFn tile_of(std::span<const DType> operands, DType) {
  return visit_dtype(operands[0], [&](auto x) -> TileFn {
    using Call = OfOneType<F, decltype(x), std::make_index_sequence<kOperands>>;
    if constexpr (Call::kTaken)
      return Call::tile();
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
    for (const DTypeInfo& candidate : all_dtypes())
      if (result_dtype<F, kOperands>(candidate.dtype)) accepted.push_back(candidate.dtype);
    throw_dtype_refused(op, types[0].dtype, accepted);
  }
  return {{*dtype, types[0].shape}};
}

// All shapes for one dtype of each kind, one shape for the others.
template <typename F, int kOperands>
std::vector<Sample> elementwise_samples() {
  std::vector<Sample> samples;
  for (const auto& [dtype, name, size] : all_dtypes()) {
    if (!result_dtype<F, kOperands>(dtype)) continue;
    if (is_main_dtype(dtype))
      for (const Shape& shape : sample_shapes()) samples.push_back({std::vector<TensorType>(kOperands, {dtype, shape}), {}});
    else
      samples.push_back({std::vector<TensorType>(kOperands, {dtype, {4, 6}}), {}});
  }
  return samples;
}

}  // namespace shardlab::ops
