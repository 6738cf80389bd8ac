// Partial results combined element by element.
#pragma once

#include "runtime/graph/op_def.h"
#include "runtime/ops/isa.h"

namespace shardlab::ops {

// to[i] = left[i] (op) right[i], for `count` elements; `to` may be `left` or `right`. NaN wins in max and min, as in XLA; of bools sum is
// or, and prod is and.
void combine(Reduction reduction, DType dtype, std::byte* to, const std::byte* left, const std::byte* right, std::int64_t count);

// Asks for what lies a page behind `count` elements: the processor follows what is read by itself, but no further than the page.
template <typename T>
SHARDLAB_INLINE void prefetch_ahead(const T* x, std::int64_t count) {
  constexpr std::int64_t kAhead = 4096, kLine = 64;
  const auto* bytes = reinterpret_cast<const std::byte*>(x);
  for (std::int64_t at = 0; at < count * std::int64_t(sizeof(T)); at += kLine) __builtin_prefetch(bytes + at + kAhead);
}

}  // namespace shardlab::ops
