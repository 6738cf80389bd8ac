// The orders of elements: the one in which they are sorted, and the total one of top_k.
#pragma once

#include <cmath>

#include "runtime/core/dtype.h"

namespace shardlab::ops {

// Numbers ascending, -0 equal to 0, complex numbers by real then imaginary part, NaN last.
template <typename T>
bool sorts_before(const T& a, const T& b) {
  if constexpr (requires { a.real(); }) {
    if (sorts_before(a.real(), b.real())) return true;
    return !sorts_before(b.real(), a.real()) && sorts_before(a.imag(), b.imag());
  } else {
    return a < b || (a == a && b != b);
  }
}

// Of real numbers: negative NaNs, numbers ascending, -0 before 0, positive NaNs. Source: IEEE 754's totalOrder, but of equal NaNs.
template <typename T>
bool ranks_before(const T& a, const T& b) {
  if constexpr (Half<T>) {
    return ranks_before(float(a), float(b));
  } else if constexpr (Real<T>) {
    auto side = [](T x) { return x == x ? 0 : std::signbit(x) ? -1 : 1; };
    if (a != a || b != b) return side(a) < side(b);
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  } else {
    return a < b;
  }
}

}  // namespace shardlab::ops
