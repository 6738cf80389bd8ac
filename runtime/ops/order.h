// The order in which elements are sorted: numbers ascending, -0 equal to 0, complex numbers by real then imaginary part, NaN last.
#pragma once

namespace shardlab::ops {

template <typename T>
bool sorts_before(const T& a, const T& b) {
  if constexpr (requires { a.real(); }) {
    if (sorts_before(a.real(), b.real())) return true;
    return !sorts_before(b.real(), a.real()) && sorts_before(a.imag(), b.imag());
  } else {
    return a < b || (a == a && b != b);
  }
}

}  // namespace shardlab::ops
