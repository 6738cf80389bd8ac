#include "runtime/ops/gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/ops/half_loops.h"
#include "runtime/ops/isa.h"

namespace shardlab::ops {
namespace {

using Vector4 = float __attribute__((vector_size(16), aligned(4), may_alias));

// In software where the C library knows no better; every machine that is in use has the instruction.
Vector4 fma4(Vector4 x, Vector4 y, Vector4 sum) {
  for (int i = 0; i < 4; ++i) sum[i] = std::fma(x[i], y[i], sum[i]);
  return sum;
}

#define SHARDLAB_GEMM_NAME inner_baseline
#define SHARDLAB_GEMM_TARGET
#define SHARDLAB_GEMM_BYTES 16
#define SHARDLAB_GEMM_FMA fma4
#include "runtime/ops/gemm_kernel.inc"

#if defined(__x86_64__)
#define SHARDLAB_GEMM_NAME inner_avx2
#define SHARDLAB_GEMM_TARGET [[gnu::target("avx2,fma")]]
#define SHARDLAB_GEMM_BYTES 32
#define SHARDLAB_GEMM_FMA(x, y, sum) Vector(_mm256_fmadd_ps(__m256(x), __m256(y), __m256(sum)))
#include "runtime/ops/gemm_kernel.inc"

#define SHARDLAB_GEMM_NAME inner_avx512
#define SHARDLAB_GEMM_TARGET [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#define SHARDLAB_GEMM_BYTES 64
#define SHARDLAB_GEMM_FMA(x, y, sum) Vector(_mm512_fmadd_ps(__m512(x), __m512(y), __m512(sum)))
#include "runtime/ops/gemm_kernel.inc"
#endif

constexpr std::int64_t kDepth = 256;  // elements of k that are summed in registers; part of the result's definition

struct Inner {
  void (*run)(const float*, std::int64_t, const float*, std::int64_t, float*, std::int64_t, std::int64_t, std::int64_t, bool);
  std::int64_t rows, columns;
};
using Inners = std::array<Inner, 3>;  // one, two and three vectors wide, with as many rows as the registers hold beside them

Inners best_inners() {
#if defined(__x86_64__)
  switch (machine_isa()) {
    case Isa::kAvx512:
      return {{{inner_avx512<16, 1>, 16, 16}, {inner_avx512<12, 2>, 12, 32}, {inner_avx512<8, 3>, 8, 48}}};
    case Isa::kAvx2:
      return {{{inner_avx2<8, 1>, 8, 8}, {inner_avx2<6, 2>, 6, 16}, {inner_avx2<4, 3>, 4, 24}}};
    case Isa::kBaseline:
      break;
  }
#endif
  return {{{inner_baseline<8, 1>, 8, 4}, {inner_baseline<6, 2>, 6, 8}, {inner_baseline<4, 3>, 4, 12}}};
}

void gemm_float(GemmSize size, const float* a, const float* b, float* c) {
  static const Inners inners = best_inners();
  if (size.k == 0) std::fill_n(c, size.m * size.n, 0.0f);
  // As deep as is needed and not cleared: of many small products the panel would cost more than they do.
  const auto panel = std::make_unique_for_overwrite<float[]>(std::size_t(std::min(kDepth, size.k) * inners.back().columns));
  for (std::int64_t k0 = 0; k0 < size.k; k0 += kDepth) {
    std::int64_t depth = std::min(kDepth, size.k - k0);
    for (std::int64_t n0 = 0; n0 < size.n;) {
      // The narrowest that takes what is left, or the widest.
      auto fits = std::find_if(inners.begin(), inners.end() - 1, [&](const Inner& each) { return size.n - n0 <= each.columns; });
      const Inner& inner = *fits;
      std::int64_t columns = std::min(inner.columns, size.n - n0);
      for (std::int64_t p = 0; p < depth; ++p) {
        float* to = panel.get() + p * inner.columns;
        std::copy_n(b + (k0 + p) * size.n + n0, columns, to);
        std::fill(to + columns, to + inner.columns, 0.0f);
      }
      for (std::int64_t m0 = 0; m0 < size.m; m0 += inner.rows)
        inner.run(a + m0 * size.k + k0, size.k, panel.get(), depth, c + m0 * size.n + n0, size.n, std::min(inner.rows, size.m - m0),
                  columns, k0 > 0);
      n0 += columns;
    }
  }
}

template <typename T>
struct PlainGemm {
  SHARDLAB_INLINE static void run(GemmSize size, const T* a, const T* b, T* c) {
    for (std::int64_t i = 0; i < size.m; ++i) {
      T* row = c + i * size.n;
      for (std::int64_t j = 0; j < size.n; ++j) row[j] = T(0);
      for (std::int64_t p = 0; p < size.k; ++p) add_multiple(row, a[i * size.k + p], b + p * size.n, size.n);
    }
  }

 private:
  SHARDLAB_INLINE static void add_multiple(T* row, T factor, const T* x, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) {
      if constexpr (std::is_same_v<T, bool>)
        row[j] = row[j] | (factor & x[j]);
      else if constexpr (Whole<T>)
        row[j] = T(Wrapping<T>(row[j]) + Wrapping<T>(factor) * Wrapping<T>(x[j]));
      else if constexpr (Real<T>)
        row[j] += factor * x[j];
      else
        row[j] = T(row[j].real() + (factor.real() * x[j].real() - factor.imag() * x[j].imag()),
                   row[j].imag() + (factor.real() * x[j].imag() + factor.imag() * x[j].real()));
    }
  }
};

// In float, rounded at the end.
template <Half H>
void gemm_half(GemmSize size, const H* a, const H* b, H* c) {
  std::vector<float> left(std::size_t(size.m * size.k)), right(std::size_t(size.k * size.n)), result(std::size_t(size.m * size.n));
  widen(a, left.data(), size.m * size.k);
  widen(b, right.data(), size.k * size.n);
  gemm_float(size, left.data(), right.data(), result.data());
  narrow(result.data(), c, size.m * size.n);
}

}  // namespace

void gemm(DType dtype, GemmSize size, const std::byte* a, const std::byte* b, std::byte* result) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    const T* left = reinterpret_cast<const T*>(a);
    const T* right = reinterpret_cast<const T*>(b);
    T* out = reinterpret_cast<T*>(result);
    if constexpr (std::is_same_v<T, float>)
      gemm_float(size, left, right, out);
    else if constexpr (Half<T>)
      gemm_half(size, left, right, out);
    else
      best_version<PlainGemm<T>, GemmSize, const T*, const T*, T*>()(size, left, right, out);
  });
}

}  // namespace shardlab::ops
