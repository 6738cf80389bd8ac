#include "runtime/core/dtype.h"

#include <algorithm>
#include <array>

namespace shardlab {
namespace {

constexpr std::array kDTypes = {DTypeInfo{DType::kBool, "bool", 1},
                                DTypeInfo{DType::kInt8, "int8", 1},
                                DTypeInfo{DType::kInt16, "int16", 2},
                                DTypeInfo{DType::kInt32, "int32", 4},
                                DTypeInfo{DType::kInt64, "int64", 8},
                                DTypeInfo{DType::kUint8, "uint8", 1},
                                DTypeInfo{DType::kUint16, "uint16", 2},
                                DTypeInfo{DType::kUint32, "uint32", 4},
                                DTypeInfo{DType::kUint64, "uint64", 8},
                                DTypeInfo{DType::kBfloat16, "bfloat16", 2},
                                DTypeInfo{DType::kFloat16, "float16", 2},
                                DTypeInfo{DType::kFloat32, "float32", 4},
                                DTypeInfo{DType::kFloat64, "float64", 8},
                                DTypeInfo{DType::kComplex64, "complex64", 8},
                                DTypeInfo{DType::kComplex128, "complex128", 16}};

// Below float32 the lattice forks; above it is a chain of floats with the complex ones beside.
DType promote_inexact(DType a, DType b) {
  if (is_half(a) && is_half(b)) return a == b ? a : DType::kFloat32;
  if (is_complex(a) || is_complex(b)) {
    DType wide = promote_inexact(real_dtype(a), real_dtype(b));
    return wide == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  }
  return std::max(a, b);  // the enumeration goes up from the halves to float64
}

DType signed_of_size(std::int64_t bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

// A signed and an unsigned type meet in the signed one that holds both; with uint64 that is a float of the default width.
DType promote_integers(DType a, DType b, bool enable_x64) {
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) >= size_of(b) ? a : b;
  DType with_sign = is_signed_integer(a) ? a : b, without = is_signed_integer(a) ? b : a;
  if (without == DType::kUint64) return default_dtype(WeakKind::kReal, enable_x64);
  return signed_of_size(std::max(size_of(with_sign), 2 * size_of(without)));
}

}  // namespace

std::span<const DTypeInfo> all_dtypes() { return kDTypes; }

const DTypeInfo& dtype_info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& info : kDTypes)
    if (info.name == name) return info.dtype;
  return std::nullopt;
}

DType real_dtype(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

DType complex_dtype(DType dtype) {
  if (dtype == DType::kFloat32 || is_half(dtype)) return DType::kComplex64;
  return dtype == DType::kFloat64 ? DType::kComplex128 : dtype;
}

DType canonical(DType dtype, bool enable_x64) {
  if (enable_x64) return dtype;
  switch (dtype) {
    case DType::kInt64:
      return DType::kInt32;
    case DType::kUint64:
      return DType::kUint32;
    case DType::kFloat64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kComplex64;
    default:
      return dtype;
  }
}

DType promote(DType a, DType b, bool enable_x64) {
  if (a == b || b == DType::kBool) return canonical(a, enable_x64);
  if (a == DType::kBool) return canonical(b, enable_x64);
  if (is_inexact(a) && is_inexact(b)) return canonical(promote_inexact(a, b), enable_x64);
  if (is_inexact(a)) return canonical(a, enable_x64);
  if (is_inexact(b)) return canonical(b, enable_x64);
  return canonical(promote_integers(a, b, enable_x64), enable_x64);
}

DType default_dtype(WeakKind kind, bool enable_x64) {
  switch (kind) {
    case WeakKind::kBool:
      return DType::kBool;
    case WeakKind::kInteger:
      return canonical(DType::kInt64, enable_x64);
    case WeakKind::kReal:
      return canonical(DType::kFloat64, enable_x64);
    case WeakKind::kComplex:
      return canonical(DType::kComplex128, enable_x64);
  }
  throw InternalError("unknown kind of scalar");
}

DType promote_with_weak(DType array, WeakKind weak, bool enable_x64) {
  array = canonical(array, enable_x64);
  switch (weak) {
    case WeakKind::kBool:
      return array;
    case WeakKind::kInteger:
      return array == DType::kBool ? default_dtype(weak, enable_x64) : array;
    case WeakKind::kReal:
      return is_inexact(array) ? array : default_dtype(weak, enable_x64);
    case WeakKind::kComplex:
      if (is_complex(array)) return array;
      if (is_half(array)) return DType::kComplex64;
      return is_floating(array) ? complex_dtype(array) : default_dtype(weak, enable_x64);
  }
  throw InternalError("unknown kind of scalar");
}

}  // namespace shardlab
