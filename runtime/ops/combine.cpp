#include "runtime/ops/combine.h"

#include <algorithm>

#include "runtime/ops/reducers.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

using namespace reduction;

template <typename F, typename T>
struct CombineLoop {
  SHARDLAB_INLINE static void run(T* to, const T* left, const T* right, std::int64_t count) {
    constexpr std::int64_t kChunk = 1024 / sizeof(T);
    for (std::int64_t start = 0; start < count; start += kChunk) {
      const std::int64_t size = std::min(kChunk, count - start);
      if (size == kChunk) {
        prefetch_ahead(left + start, size);
        prefetch_ahead(right + start, size);
      }
#pragma GCC ivdep
      for (std::int64_t i = start; i < start + size; ++i) to[i] = T(F::combine(Widened<T>(left[i]), Widened<T>(right[i])));
    }
  }
};

template <typename F>
void combine_all(DType dtype, std::byte* to, const std::byte* left, const std::byte* right, std::int64_t count) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (kTakes<F, Widened<T>>) {
      static const auto run = VersionFor<CombineLoop<F, T>, T>::template choose<T*, const T*, const T*, std::int64_t>();
      run(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(left), reinterpret_cast<const T*>(right), count);
    } else {
      throw InternalError("a reduction of a dtype that its shape rule refuses");
    }
  });
}

}  // namespace

void combine(Reduction reduction, DType dtype, std::byte* to, const std::byte* left, const std::byte* right, std::int64_t count) {
  switch (reduction) {
    case Reduction::kSum:
      if (dtype == DType::kBool) return combine_all<Or>(dtype, to, left, right, count);
      return combine_all<Sum>(dtype, to, left, right, count);
    case Reduction::kProd:
      if (dtype == DType::kBool) return combine_all<And>(dtype, to, left, right, count);
      return combine_all<Prod>(dtype, to, left, right, count);
    case Reduction::kMax:
      return combine_all<Max>(dtype, to, left, right, count);
    case Reduction::kMin:
      return combine_all<Min>(dtype, to, left, right, count);
    case Reduction::kAnd:
      return combine_all<And>(dtype, to, left, right, count);
    case Reduction::kOr:
      return combine_all<Or>(dtype, to, left, right, count);
  }
  throw InternalError("unknown reduction");
}

}  // namespace shardlab::ops
