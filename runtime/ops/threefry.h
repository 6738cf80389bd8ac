// The Threefry-2x32 block: the counter-based generator behind all random numbers.
//
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), 20 rounds; counters as jax.random lays them out.
#pragma once

#include <cstdint>

#include "runtime/ops/isa.h"

namespace shardlab::ops {

struct ThreefryKey {
  std::uint32_t first = 0, second = 0;
};
struct ThreefryBlock {
  std::uint32_t first, second;
};

SHARDLAB_INLINE ThreefryBlock threefry(ThreefryKey key, std::uint32_t x0, std::uint32_t x1) {
  const std::uint32_t keys[3] = {key.first, key.second, key.first ^ key.second ^ 0x1bd11bdau};
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 += keys[0];
  x1 += keys[1];
#pragma GCC unroll 5
  for (std::uint32_t group = 0; group < 5; ++group) {
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
      int turn = kRotations[group % 2][round];
      x0 += x1;
      x1 = ((x1 << turn) | (x1 >> (32 - turn))) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

// Word `index` of the older layout's `count` words: the counters 0 … count - 1, a 0 added where they are odd, are cut in two halves
// that are hashed as pairs; the outputs follow each other.
inline std::uint32_t original_word(ThreefryKey key, std::uint64_t index, std::uint64_t count) {
  std::uint64_t half = (count + 1) / 2;
  std::uint64_t low = index < half ? index : index - half, high = low + half;
  ThreefryBlock block = threefry(key, std::uint32_t(low), high < count ? std::uint32_t(high) : 0u);
  return index < half ? block.first : block.second;
}

}  // namespace shardlab::ops
