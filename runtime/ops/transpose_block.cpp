#include "runtime/ops/transpose_block.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/ops/isa.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kTile = 8;  // rows and columns of a tile, whose rows are vectors

template <typename T>
struct Row {
  typedef T Vector __attribute__((vector_size(kTile * sizeof(T))));
};

// The perfect shuffle of rows: three of them transpose eight rows of eight.
template <typename V>
SHARDLAB_INLINE void shuffle(const V* in, V* out) {
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = __builtin_shufflevector(in[i], in[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    out[2 * i + 1] = __builtin_shufflevector(in[i], in[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

template <typename T>
SHARDLAB_INLINE void transpose_tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  using V = typename Row<T>::Vector;
  V a[kTile], b[kTile];
  for (std::int64_t i = 0; i < kTile; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(V));
  shuffle(a, b);
  shuffle(b, a);
  shuffle(a, b);
  for (std::int64_t i = 0; i < kTile; ++i) std::memcpy(to + i * to_stride, &b[i], sizeof(V));
}

template <typename T>
SHARDLAB_INLINE void transpose_plain(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                                     std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
}

// In squares that stay in the nearest cache, so that lines of which a step takes a part are still there for the next.
template <typename T, bool kByTiles>
struct TransposeLoop {
  SHARDLAB_INLINE static void run(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                                  std::int64_t columns) {
    constexpr std::int64_t kSquare = kByTiles ? std::clamp<std::int64_t>(256 / std::int64_t(sizeof(T)), 32, 64) : 16;
    for (std::int64_t r = 0; r < rows; r += kSquare)
      for (std::int64_t c = 0; c < columns; c += kSquare)
        square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride, std::min(kSquare, rows - r),
               std::min(kSquare, columns - c));
  }

 private:
  SHARDLAB_INLINE static void square(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                                     std::int64_t columns) {
    if constexpr (kByTiles) {
      const std::int64_t whole_rows = rows / kTile * kTile, whole_columns = columns / kTile * kTile;
      for (std::int64_t r = 0; r < whole_rows; r += kTile)
        for (std::int64_t c = 0; c < whole_columns; c += kTile)
          transpose_tile(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
      transpose_plain(from + whole_columns, from_stride, to + whole_columns * to_stride, to_stride, whole_rows, columns - whole_columns);
      transpose_plain(from + whole_rows * from_stride, from_stride, to + whole_rows, to_stride, rows - whole_rows, columns);
    } else {
      transpose_plain(from, from_stride, to, to_stride, rows, columns);
    }
  }
};

// Tiles of wide elements pay where one instruction shuffles two vectors of 64 bytes.
template <typename T>
auto best_loop() {
  auto version = []<bool kByTiles>() {
    return best_version<TransposeLoop<T, kByTiles>, const T*, std::int64_t, T*, std::int64_t, std::int64_t, std::int64_t>();
  };
  if constexpr (sizeof(T) <= 8) {
    if (sizeof(T) <= 2 || machine_isa() == Isa::kAvx512) return version.template operator()<true>();
  }
  return version.template operator()<false>();
}

template <typename T>
void transpose_as(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride, std::int64_t rows,
                  std::int64_t columns) {
  static auto* const run = best_loop<T>();
  run(reinterpret_cast<const T*>(from), from_stride, reinterpret_cast<T*>(to), to_stride, rows, columns);
}

}  // namespace

void transpose_block(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride, std::int64_t rows,
                     std::int64_t columns, std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return transpose_as<std::uint8_t>(from, from_stride, to, to_stride, rows, columns);
    case 2:
      return transpose_as<std::uint16_t>(from, from_stride, to, to_stride, rows, columns);
    case 4:
      return transpose_as<std::uint32_t>(from, from_stride, to, to_stride, rows, columns);
    case 8:
      return transpose_as<std::uint64_t>(from, from_stride, to, to_stride, rows, columns);
    case 16:
      return transpose_as<std::complex<double>>(from, from_stride, to, to_stride, rows, columns);
    default:
      throw InternalError("transpose_block: elements of 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace shardlab::ops
