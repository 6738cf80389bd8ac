#include "runtime/ops/gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/core/buffer.h"
#include "runtime/ops/copy_run.h"
#include "runtime/ops/half_loops.h"
#include "runtime/ops/isa.h"
#include "runtime/ops/transpose_block.h"

namespace shardlab::ops {
namespace {

// In software where the C library knows no better; every machine that is in use has the instruction.
template <typename V>
V fma_by_element(V x, V y, V sum) {
  for (std::size_t i = 0; i < sizeof(V) / sizeof(x[0]); ++i) sum[i] = std::fma(x[i], y[i], sum[i]);
  return sum;
}

#define SHARDLAB_GEMM_NAME Baseline
#define SHARDLAB_GEMM_TARGET
#define SHARDLAB_GEMM_BYTES 16
#define SHARDLAB_GEMM_FMA fma_by_element
#include "runtime/ops/gemm_kernel.inc"

#if defined(__x86_64__)
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 fma256(__m256 x, __m256 y, __m256 sum) { return _mm256_fmadd_ps(x, y, sum); }
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256d fma256(__m256d x, __m256d y, __m256d sum) {
  return _mm256_fmadd_pd(x, y, sum);
}
#define SHARDLAB_GEMM_NAME Avx2
#define SHARDLAB_GEMM_TARGET [[gnu::target("avx2,fma")]]
#define SHARDLAB_GEMM_BYTES 32
#define SHARDLAB_GEMM_FMA fma256
#include "runtime/ops/gemm_kernel.inc"

[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 fma512(__m512 x, __m512 y, __m512 sum) { return _mm512_fmadd_ps(x, y, sum); }
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512d fma512(__m512d x, __m512d y, __m512d sum) {
  return _mm512_fmadd_pd(x, y, sum);
}
#define SHARDLAB_GEMM_NAME Avx512
#define SHARDLAB_GEMM_TARGET [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#define SHARDLAB_GEMM_BYTES 64
#define SHARDLAB_GEMM_FMA fma512
#include "runtime/ops/gemm_kernel.inc"
#endif

constexpr std::int64_t kDepth = 256;        // elements of k that are summed in registers; part of the result's definition
constexpr std::int64_t kStripStride = 272;  // of rows of `a`, copied: at a power of two all would lie in one set of the cache
constexpr std::int64_t kFewRows = 8;        // so many read `b` where it lies: a copy would cost more than the product

template <typename T>
struct Inner {
  void (*run)(const T*, std::int64_t, const T*, std::int64_t, const std::int64_t*, std::int64_t, T*, std::int64_t, std::int64_t,
              std::int64_t, bool);
  std::int64_t rows, columns;
};

// For some rows, the smallest that takes them all, else the largest.
template <typename T>
using ByRows = std::array<Inner<T>, 3>;
template <typename T>
const Inner<T>& inner_for(const ByRows<T>& inners, std::int64_t rows) {
  return *std::find_if(inners.begin(), inners.end() - 1, [&](const Inner<T>& each) { return rows <= each.rows; });
}

template <typename T>
struct Inners {
  ByRows<T> wide, narrow;   // two vectors and one; as many rows as the registers hold beside them
  ByRows<T> placed;         // two vectors of rows that lie anywhere
  ByRows<T> few;            // up to kFewRows
  std::int64_t block_rows;  // of `a` at a time: they stay in the second-level cache while panels of `b` pass
};

template <typename Version, typename T, int kWide, std::int64_t kStride, bool kPlaced, int... kRows>
ByRows<T> by_rows() {
  return {{{&Version::template run<T, kRows, kWide, kStride, kPlaced>, kRows, kWide * Version::kBytes / std::int64_t(sizeof(T))}...}};
}
template <typename Version, typename T, int kWide, int kRows>
Inner<T> in_place() {
  return by_rows<Version, T, kWide, 0, false, kRows, kRows, kRows>()[0];
}

template <typename T>
Inners<T> best_inners() {
  constexpr std::int64_t kStride = kStripStride;
#if defined(__x86_64__)
  switch (machine_isa()) {
    case Isa::kAvx512:
      return {by_rows<Avx512, T, 2, kStride, false, 4, 8, 12>(),
              by_rows<Avx512, T, 1, kStride, false, 4, 8, 12>(),
              by_rows<Avx512, T, 2, kStride, true, 4, 8, 12>(),
              {in_place<Avx512, T, 4, 1>(), in_place<Avx512, T, 4, 4>(), in_place<Avx512, T, 3, kFewRows>()},
              480};
    case Isa::kAvx2:
      return {by_rows<Avx2, T, 2, kStride, false, 2, 4, 6>(),
              by_rows<Avx2, T, 1, kStride, false, 2, 4, 6>(),
              by_rows<Avx2, T, 2, kStride, true, 2, 4, 6>(),
              {in_place<Avx2, T, 4, 1>(), in_place<Avx2, T, 2, 4>(), in_place<Avx2, T, 1, kFewRows>()},
              240};
    case Isa::kBaseline:
      break;
  }
#endif
  return {by_rows<Baseline, T, 2, kStride, false, 2, 4, 6>(),
          by_rows<Baseline, T, 1, kStride, false, 2, 4, 6>(),
          by_rows<Baseline, T, 2, kStride, true, 2, 4, 6>(),
          {in_place<Baseline, T, 4, 1>(), in_place<Baseline, T, 2, 4>(), in_place<Baseline, T, 1, kFewRows>()},
          240};
}

// A matrix of T, as GemmOperand.
template <typename T>
struct Matrix {
  const T* data;
  std::int64_t row_stride, column_stride;

  Matrix from(std::int64_t row, std::int64_t column) const {
    return {data + row * row_stride + column * column_stride, row_stride, column_stride};
  }
  Matrix transposed() const { return {data, column_stride, row_stride}; }
  // Copies a corner of it; to[i * to_stride + j].
  void copy(std::int64_t rows, std::int64_t columns, T* to, std::int64_t to_stride) const {
    if (column_stride == 1) {
      switch (columns * sizeof(T)) {
        case 128:
          return copy_rows<128>(rows, to, to_stride);
        case 64:
          return copy_rows<64>(rows, to, to_stride);
        default:
          for (std::int64_t i = 0; i < rows; ++i) copy_run(data + i * row_stride, columns, to + i * to_stride);
      }
    } else if (row_stride == 1) {
      transpose_block(reinterpret_cast<const std::byte*>(data), column_stride, reinterpret_cast<std::byte*>(to), to_stride, columns, rows,
                      sizeof(T));
    } else {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) to[i * to_stride + j] = data[i * row_stride + j * column_stride];
    }
  }

 private:
  // Panels: what lies behind them is wanted next.
  template <std::size_t kBytes>
  void copy_rows(std::int64_t rows, T* to, std::int64_t to_stride) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* from = data + i * row_stride;
      for (std::size_t line = 0; line < kBytes; line += 64)
        __builtin_prefetch(reinterpret_cast<const std::byte*>(from) + kBytes + line, 0, 2);
      std::memcpy(to + i * to_stride, from, kBytes);
    }
  }
};

// A right side: where it lies, where its rows lie, or what makes it.
template <typename T>
struct RightSide {
  Matrix<T> matrix{};
  const std::int64_t* offsets = nullptr;  // of rows
  const GemmPanels* made = nullptr;

  bool has_rows() const { return made == nullptr && offsets == nullptr && matrix.column_stride == 1; }
  void copy(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, T* to, std::int64_t to_stride) const {
    if (made != nullptr)
      made->pack(row, rows, column, columns, reinterpret_cast<std::byte*>(to), to_stride);
    else if (offsets != nullptr)
      for (std::int64_t i = 0; i < rows; ++i) copy_run(matrix.data + offsets[row + i] + column, columns, to + i * to_stride);
    else
      matrix.from(row, column).copy(rows, columns, to, to_stride);
  }
};

// Blocks of both sides that stay in the caches, those of `b` as panels of contiguous rows. Source: Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication" (2008).
template <typename T>
class RealGemm {
 public:
  RealGemm(GemmSize size, const Matrix<T>& a, const RightSide<T>& b, T* c) : size_(size), a_(a), b_(b), c_(c) {
    if (size.k == 0) std::fill_n(c, size.m * size.n, T(0));
    const std::int64_t most = inners().wide.back().rows;
    const std::int64_t blocks = (size.m + inners().block_rows - 1) / inners().block_rows;
    const std::int64_t block_rows = blocks == 0 ? 1 : ((size.m + blocks - 1) / blocks + most - 1) / most * most;
    strips_rows_ = std::min(block_rows, size.m) + most;
    for (std::int64_t k0 = 0; k0 < size.k; k0 += kDepth)
      for (std::int64_t m0 = 0; m0 < size.m; m0 += block_rows)
        block(m0, std::min(block_rows, size.m - m0), k0, std::min(kDepth, size.k - k0));
  }

 private:
  void block(std::int64_t m0, std::int64_t rows, std::int64_t k0, std::int64_t depth) {
    Matrix<T> left = a_.from(m0, k0);
    auto copy_left = [&] {
      T* to = scratch<Strips>(strips_rows_ * kStripStride);
      left.copy(rows, depth, to, kStripStride);
      left = {to, kStripStride, 1};
    };
    T* const out = c_ + m0 * size_.n;
    std::int64_t n0 = 0;
    if (size_.m <= kFewRows && b_.has_rows()) {
      if (left.column_stride != 1) copy_left();
      const Inner<T>& few = inner_for(inners().few, rows);
      for (; n0 + few.columns <= size_.n; n0 += few.columns)
        few.run(left.data, left.row_stride, b_.matrix.from(k0, n0).data, b_.matrix.row_stride, nullptr, depth, out + n0, size_.n, rows,
                few.columns, k0 > 0);
    }
    if (n0 == size_.n) return;
    if (left.data == a_.from(m0, k0).data) copy_left();
    while (n0 < size_.n) {
      const std::int64_t left_over = size_.n - n0;
      const bool in_place = b_.offsets != nullptr && left_over >= inners().placed[0].columns;
      const ByRows<T>& by_rows = in_place ? inners().placed : left_over > inners().narrow[0].columns ? inners().wide : inners().narrow;
      const std::int64_t width = by_rows[0].columns, columns = std::min(width, left_over);
      const T* panel = in_place ? b_.matrix.data + n0 : packed(k0, depth, n0, columns, width);
      const std::int64_t* offsets = in_place ? b_.offsets + k0 : nullptr;
      for (std::int64_t r = 0; r < rows;) {
        const Inner<T>& inner = inner_for(by_rows, rows - r);
        inner.run(left.data + r * kStripStride, kStripStride, panel, width, offsets, depth, out + r * size_.n + n0, size_.n,
                  std::min(inner.rows, rows - r), columns, k0 > 0);
        r += inner.rows;
      }
      n0 += columns;
    }
  }

  // With zeros up to the vectors' width.
  const T* packed(std::int64_t k0, std::int64_t depth, std::int64_t n0, std::int64_t columns, std::int64_t width) {
    T* to = scratch<Panel>(std::min(kDepth, size_.k) * inners().wide[0].columns);
    b_.copy(k0, depth, n0, columns, to, width);
    for (std::int64_t p = 0; columns < width && p < depth; ++p) std::fill(to + p * width + columns, to + (p + 1) * width, T(0));
    return to;
  }

  // Of each thread its own, and kept: of many small products allocations would cost more than they do.
  struct Strips {};
  struct Panel {};
  template <typename Use>
  static T* scratch(std::int64_t elements) {
    thread_local Buffer kept(0);
    if (kept.size() < std::size_t(elements) * sizeof(T)) kept = Buffer(std::size_t(elements) * sizeof(T));
    return kept.as<T>();
  }

  static const Inners<T>& inners() {
    static const Inners<T> inners = best_inners<T>();
    return inners;
  }

  const GemmSize size_;
  const Matrix<T> a_;
  const RightSide<T> b_;
  T* const c_;
  std::int64_t strips_rows_ = 0;  // with what kernels read behind them
};

// A column is a row as well, of which no panel is padded: the sums are the same.
template <typename T>
void multiply_real(GemmSize size, const Matrix<T>& a, const RightSide<T>& b, T* c) {
  const bool is_column = size.n == 1 && size.m > 1 && b.offsets == nullptr && b.made == nullptr;
  if (is_column)
    RealGemm<T>({1, size.m, size.k}, b.matrix.transposed(), {a.transposed()}, c);
  else
    RealGemm<T>(size, a, b, c);
}

// Of whole and complex numbers.
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
  multiply_real<float>(size, {left.data(), size.k, 1}, {{right.data(), size.n, 1}}, result.data());
  narrow(result.data(), c, size.m * size.n);
}

// Dense row-major; copied into `storage` where it does not lie so.
template <typename T>
const T* dense(const RightSide<T>& side, std::int64_t rows, std::int64_t columns, std::unique_ptr<T[]>& storage) {
  if (side.has_rows() && (side.matrix.row_stride == columns || rows == 1)) return side.matrix.data;
  storage = std::make_unique_for_overwrite<T[]>(std::size_t(rows * columns));
  side.copy(0, rows, 0, columns, storage.get(), columns);
  return storage.get();
}

template <typename T>
Matrix<T> matrix_of(const GemmOperand& operand) {
  return {reinterpret_cast<const T*>(operand.data), operand.row_stride, operand.column_stride};
}

template <typename T>
void multiply(GemmSize size, const Matrix<T>& a, const RightSide<T>& b, T* c) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    multiply_real<T>(size, a, b, c);
  } else {
    std::unique_ptr<T[]> left_storage, right_storage;
    const T* left = dense<T>({a}, size.m, size.k, left_storage);
    const T* right = dense(b, size.k, size.n, right_storage);
    if constexpr (Half<T>)
      gemm_half(size, left, right, c);
    else
      best_version<PlainGemm<T>, GemmSize, const T*, const T*, T*>()(size, left, right, c);
  }
}

}  // namespace

void gemm(DType dtype, GemmSize size, const GemmOperand& a, const GemmOperand& b, std::byte* result) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    multiply<T>(size, matrix_of<T>(a), {matrix_of<T>(b)}, reinterpret_cast<T*>(result));
  });
}

void gemm(DType dtype, GemmSize size, const GemmOperand& a, const GemmRows& b, std::byte* result) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    multiply<T>(size, matrix_of<T>(a), {.matrix = {reinterpret_cast<const T*>(b.data), 0, 1}, .offsets = b.offsets},
                reinterpret_cast<T*>(result));
  });
}

void gemm(DType dtype, GemmSize size, const GemmOperand& a, const GemmPanels& b, std::byte* result) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    multiply<T>(size, matrix_of<T>(a), {.made = &b}, reinterpret_cast<T*>(result));
  });
}

}  // namespace shardlab::ops
