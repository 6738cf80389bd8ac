// Runs of 16-bit floats to float and back: how every kernel computes with them.
#pragma once

#include "runtime/core/half.h"
#include "runtime/ops/isa.h"

namespace shardlab::ops {

template <Half H>
struct WidenLoop {
  SHARDLAB_INLINE static void run(const H* from, float* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = float(from[i]);
  }
};
template <Half H>
struct NarrowLoop {
  SHARDLAB_INLINE static void run(const float* from, H* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = H(from[i]);
  }
};

template <Half H>
void widen(const H* from, float* to, std::int64_t count) {
  best_version<WidenLoop<H>, const H*, float*, std::int64_t>()(from, to, count);
}
// Rounds to nearest, ties to even.
template <Half H>
void narrow(const float* from, H* to, std::int64_t count) {
  best_version<NarrowLoop<H>, const float*, H*, std::int64_t>()(from, to, count);
}

}  // namespace shardlab::ops
