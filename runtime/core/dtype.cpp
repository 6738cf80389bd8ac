#include "runtime/core/dtype.h"

#include <algorithm>
#include <array>

namespace shardlab {
namespace {

constexpr std::array<DTypeInfo, 5> kDTypes = {{{DType::kBool, "bool", 1},
                                               {DType::kInt32, "int32", 4},
                                               {DType::kUint32, "uint32", 4},
                                               {DType::kFloat32, "float32", 4},
                                               {DType::kComplex64, "complex64", 8}}};

}  // namespace

const DTypeInfo& dtype_info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& info : kDTypes)
    if (info.name == name) return info.dtype;
  return std::nullopt;
}

// With x64 off int32 and uint32 would meet in int64, which is then int32 (jax.numpy.promote_types).
DType promote(DType a, DType b) {
  if (a == b) return a;
  auto [low, high] = std::minmax(a, b);
  if (low == DType::kInt32 && high == DType::kUint32) return DType::kInt32;
  return high;
}

DType promote_with_scalar(DType array, bool scalar_is_integer) {
  if (is_floating(array) || is_complex(array)) return array;
  if (!scalar_is_integer) return DType::kFloat32;
  return array == DType::kBool ? DType::kInt32 : array;
}

}  // namespace shardlab
