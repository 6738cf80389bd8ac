// Element types, with JAX's names.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/base/error.h"

namespace shardlab {

enum class DType : std::uint8_t { kBool, kInt32, kUint32, kFloat32, kComplex64 };

using Complex64 = std::complex<float>;

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // "float32"
  int size;               // bytes an element
};

const DTypeInfo& dtype_info(DType dtype);
inline std::string_view name_of(DType dtype) { return dtype_info(dtype).name; }
inline std::int64_t size_of(DType dtype) { return dtype_info(dtype).size; }
std::optional<DType> dtype_from_name(std::string_view name);

inline bool is_floating(DType d) { return d == DType::kFloat32; }
inline bool is_complex(DType d) { return d == DType::kComplex64; }
inline bool is_integer(DType d) { return d == DType::kInt32 || d == DType::kUint32; }

// JAX's promotion for two arrays of these types (x64 off). A Python-like scalar is weak: see promote_with_scalar.
DType promote(DType a, DType b);

// The type an array of type `array` and a scalar constant combine to: a real scalar keeps a floating or complex array's type; an
// integer array and a fractional scalar give float32; a bool array takes int32 or float32.
DType promote_with_scalar(DType array, bool scalar_is_integer);

template <typename T>
struct dtype_of;
template <>
struct dtype_of<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct dtype_of<std::int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct dtype_of<std::uint32_t> {
  static constexpr DType value = DType::kUint32;
};
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct dtype_of<Complex64> {
  static constexpr DType value = DType::kComplex64;
};

// Calls f(T{}) with the C++ type of `dtype`.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kUint32:
      return f(std::uint32_t{});
    case DType::kFloat32:
      return f(float{});
    case DType::kComplex64:
      return f(Complex64{});
  }
  throw InternalError("unknown dtype");
}

}  // namespace shardlab
