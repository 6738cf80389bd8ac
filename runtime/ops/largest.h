// The greatest finite number of a floating dtype.
#pragma once

#include <limits>

#include "runtime/core/dtype.h"

namespace shardlab::ops {

inline double largest(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return 0x1.fep127;
    case DType::kFloat16:
      return 65504;
    case DType::kFloat32:
      return double(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace shardlab::ops
