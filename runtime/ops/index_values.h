// Reading integers of any integer dtype.
#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// Element i of an array of integers.
inline std::int64_t index_value(const ConstView& view, std::int64_t i) {
  return visit_dtype(view.type.dtype, [&](auto sample) -> std::int64_t {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T>)
      return std::int64_t(view.as<T>()[i]);
    else
      throw InternalError("indices that are no integers");
  });
}

// Elements [first, first + count).
inline void read_indices(const ConstView& view, std::int64_t first, std::int64_t count, std::int64_t* to) {
  visit_dtype(view.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T>)
      std::copy_n(view.as<T>() + first, count, to);
    else
      throw InternalError("indices that are no integers");
  });
}

}  // namespace shardlab::ops
