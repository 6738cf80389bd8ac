// How two elements are combined: sum, prod, max, min, and, or.
#pragma once

#include <limits>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/ops/isa.h"

namespace shardlab::ops::reduction {

struct Sum {
  template <typename T>
  static T identity() {
    return T(0);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    if constexpr (Whole<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else if constexpr (Cplx<T>)
      return {a.real() + b.real(), a.imag() + b.imag()};
    else
      return a + b;
  }
};
struct Prod {
  template <typename T>
  static T identity() {
    return T(1);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    if constexpr (Whole<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else if constexpr (Cplx<T>)
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    else
      return a * b;
  }
};
template <typename T>
T lowest() {
  if constexpr (Cplx<T>)
    return {-std::numeric_limits<typename T::value_type>::infinity(), -std::numeric_limits<typename T::value_type>::infinity()};
  else if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}
template <typename T>
T highest() {
  if constexpr (Cplx<T>)
    return {std::numeric_limits<typename T::value_type>::infinity(), std::numeric_limits<typename T::value_type>::infinity()};
  else if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}
template <typename T>
SHARDLAB_INLINE bool greater(T a, T b) {
  if constexpr (Cplx<T>)
    return a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag());
  else
    return a > b;
}
struct Max {
  template <typename T>
  static T identity() {
    return lowest<T>();
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return greater(a, b) | (a != a) ? a : b;
  }
};
struct Min {
  template <typename T>
  static T identity() {
    return highest<T>();
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return greater(b, a) | (a != a) ? a : b;
  }
};
struct And {
  template <typename T>
  static T identity() {
    return std::is_same_v<T, bool> ? T(true) : T(-1);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return T(a & b);
  }
};
struct Or {
  template <typename T>
  static T identity() {
    return T(0);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return T(a | b);
  }
};

template <typename F, typename T>
constexpr bool kTakes = (std::is_same_v<F, Max> || std::is_same_v<F, Min>)  ? true
                        : (std::is_same_v<F, And> || std::is_same_v<F, Or>) ? std::is_integral_v<T>
                                                                            : !std::is_same_v<T, bool>;

}  // namespace shardlab::ops::reduction
