// Copies of some dozens of elements: a call of memmove would take longer than the copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace shardlab::ops {

// The two do not overlap.
template <typename T>
[[gnu::always_inline]] inline void copy_run(const T* from, std::int64_t count, T* to) {
  constexpr std::int64_t kBytesMax = 512;                                                   // of what is copied here
  constexpr std::int64_t kPiece = std::max<std::int64_t>(1, 16 / std::int64_t(sizeof(T)));  // elements of 16 bytes
  if (count < kPiece || count * std::int64_t(sizeof(T)) > kBytesMax) {
    std::copy_n(from, count, to);
    return;
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i + kPiece <= count; i += kPiece) std::memcpy(to + i, from + i, kPiece * sizeof(T));
  std::memcpy(to + count - kPiece, from + count - kPiece, kPiece * sizeof(T));  // the rest, with some of what precedes it
}

}  // namespace shardlab::ops
