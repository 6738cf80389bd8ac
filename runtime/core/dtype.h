// Element types, with JAX's names, and the rules by which they combine.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "runtime/base/error.h"
#include "runtime/core/half.h"

namespace shardlab {

enum class DType : std::uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBfloat16,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128
};

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // "float32"
  int size;               // bytes an element
};

std::span<const DTypeInfo> all_dtypes();  // in the order of the enumeration
const DTypeInfo& dtype_info(DType dtype);
inline std::string_view name_of(DType dtype) { return dtype_info(dtype).name; }
inline std::int64_t size_of(DType dtype) { return dtype_info(dtype).size; }
std::optional<DType> dtype_from_name(std::string_view name);

inline bool is_half(DType d) { return d == DType::kBfloat16 || d == DType::kFloat16; }
inline bool is_floating(DType d) { return d >= DType::kBfloat16 && d <= DType::kFloat64; }
inline bool is_complex(DType d) { return d == DType::kComplex64 || d == DType::kComplex128; }
inline bool is_inexact(DType d) { return is_floating(d) || is_complex(d); }
inline bool is_signed_integer(DType d) { return d >= DType::kInt8 && d <= DType::kInt64; }
inline bool is_unsigned_integer(DType d) { return d >= DType::kUint8 && d <= DType::kUint64; }
inline bool is_integer(DType d) { return is_signed_integer(d) || is_unsigned_integer(d); }

// The real type of a complex one's parts, and the complex type of which a real one is a part; others as they are.
DType real_dtype(DType dtype);
DType complex_dtype(DType dtype);

// What a dtype is while 64-bit types are off: int64 is int32, complex128 is complex64.
DType canonical(DType dtype, bool enable_x64);

// JAX's promotion of two arrays: the least type of the lattice that holds both, made canonical.
// Source: "JAX type promotion semantics" (JEP 9407).
DType promote(DType a, DType b, bool enable_x64 = false);

// A scalar of C++ or of a document is weak, as Python's are: it says its kind and takes its width from the array.
enum class WeakKind : std::uint8_t { kBool, kInteger, kReal, kComplex };
DType default_dtype(WeakKind kind, bool enable_x64 = false);  // int32, float32, complex64; with x64 the wide ones
DType promote_with_weak(DType array, WeakKind weak, bool enable_x64 = false);

template <typename T>
struct dtype_of;
#define SHARDLAB_DTYPE_OF(Type, Name)           \
  template <>                                   \
  struct dtype_of<Type> {                       \
    static constexpr DType value = DType::Name; \
  };
SHARDLAB_DTYPE_OF(bool, kBool)
SHARDLAB_DTYPE_OF(std::int8_t, kInt8)
SHARDLAB_DTYPE_OF(std::int16_t, kInt16)
SHARDLAB_DTYPE_OF(std::int32_t, kInt32)
SHARDLAB_DTYPE_OF(std::int64_t, kInt64)
SHARDLAB_DTYPE_OF(std::uint8_t, kUint8)
SHARDLAB_DTYPE_OF(std::uint16_t, kUint16)
SHARDLAB_DTYPE_OF(std::uint32_t, kUint32)
SHARDLAB_DTYPE_OF(std::uint64_t, kUint64)
SHARDLAB_DTYPE_OF(Bfloat16, kBfloat16)
SHARDLAB_DTYPE_OF(Float16, kFloat16)
SHARDLAB_DTYPE_OF(float, kFloat32)
SHARDLAB_DTYPE_OF(double, kFloat64)
SHARDLAB_DTYPE_OF(Complex64, kComplex64)
SHARDLAB_DTYPE_OF(Complex128, kComplex128)
#undef SHARDLAB_DTYPE_OF

// The kinds of element types.
template <typename T>
concept Bool = std::same_as<T, bool>;
template <typename T>
concept Whole = std::integral<T> && !Bool<T>;
template <typename T>
concept Real = std::floating_point<T>;
template <typename T>
concept Cplx = std::same_as<T, Complex64> || std::same_as<T, Complex128>;

// The unsigned type in which integers of type T are added and multiplied, so that they wrap around: at least as wide as int, which
// narrower ones would be promoted to.
template <Whole T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

// `value` as T, by way of float where T is 16 bits wide; of integers the low bits.
template <typename T, typename V>
T element_from(V value) {
  if constexpr (Half<V>)
    return element_from<T>(float(value));
  else if constexpr (Cplx<V>) {
    if constexpr (Cplx<T>)
      return T(value);
    else
      return element_from<T>(value.real());
  } else if constexpr (Half<T>)
    return T(float(value));
  else if constexpr (Cplx<T>)
    return T(typename T::value_type(value));
  else
    return T(value);
}

// Calls f(T{}) with the C++ type of `dtype`.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kInt8:
      return f(std::int8_t{});
    case DType::kInt16:
      return f(std::int16_t{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kInt64:
      return f(std::int64_t{});
    case DType::kUint8:
      return f(std::uint8_t{});
    case DType::kUint16:
      return f(std::uint16_t{});
    case DType::kUint32:
      return f(std::uint32_t{});
    case DType::kUint64:
      return f(std::uint64_t{});
    case DType::kBfloat16:
      return f(Bfloat16{});
    case DType::kFloat16:
      return f(Float16{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kComplex64:
      return f(Complex64{});
    case DType::kComplex128:
      return f(Complex128{});
  }
  throw InternalError("unknown dtype");
}

}  // namespace shardlab
