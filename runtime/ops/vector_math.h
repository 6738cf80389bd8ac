// Elementary functions of float in portable, branch-free double arithmetic: loops over them vectorise, and every machine gives the same
// bits. Errors stay below 0.51 units in the last place, as the last step rounds a double that is right to about 2^-35.
//
// Source: argument reductions and kernels of FreeBSD's msun (k_sinf.c, k_cosf.c, e_rem_pio2f.c); series for exp and log.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/ops/isa.h"

namespace shardlab::ops::vector_math {

inline constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer, which the low bits then hold
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// e^x - 1 for |x| <= log(2) / 2, right to 2^-36.5: x + x^2 p(x), with p interpolated at Chebyshev's nodes.
SHARDLAB_INLINE double expm1_series(double r) {
  double p = 0x1.a11320baff941p-16;
  p = p * r + 0x1.a1517aa6b9ad3p-13;
  p = p * r + 0x1.6c16858b2b60ep-10;
  p = p * r + 0x1.1110c6323fb7ep-7;
  p = p * r + 0x1.5555555c8722dp-5;
  p = p * r + 0x1.55555567534e9p-3;
  p = p * r + 0.5;
  return r + r * r * p;
}

// e^x is scale + scale * series. Beyond the range of float it saturates at values that round to 0 or infinity.
struct ExpParts {
  double scale, series;
};
SHARDLAB_INLINE ExpParts exp_parts(double x) {
  double clamped = x > 200 ? 200.0 : x;
  clamped = clamped < -200 ? -200.0 : clamped;
  double shifted = clamped * 0x1.71547652b82fep0 + kRound;
  double n = shifted - kRound;
  double r = clamped - n * 0x1.62e42fefa39efp-1;
  return {std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52), expm1_series(r)};
}
SHARDLAB_INLINE double exp(double x) {
  ExpParts parts = exp_parts(x);
  return parts.scale + parts.scale * parts.series;
}

// Where x is small the scale is 1, and nothing cancels. Zeros keep their sign.
SHARDLAB_INLINE double expm1(double x) {
  ExpParts parts = exp_parts(x);
  return std::copysign((parts.scale - 1.0) + parts.scale * parts.series, x);
}

// log of a double that is a positive float or near one; -infinity at 0, NaN below.
SHARDLAB_INLINE double log(double x) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  std::uint64_t high = (bits >> 52) | 0x4330000000000000ULL;  // 2^52 + the biased exponent
  double exponent = std::bit_cast<double>(high) - (0x1p52 + 1023);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  bool is_large = m > 0x1.6a09e667f3bcdp0;
  m = is_large ? m * 0.5 : m;
  exponent = is_large ? exponent + 1 : exponent;
  double s = (m - 1) / (m + 1);
  double z = s * s;
  double p = 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  double result = exponent * 0x1.62e42fefa39efp-1 + (2 * s + 2 * s * z * p);
  result = x == 0 ? -kInfinity : result;
  result = x < 0 ? std::numeric_limits<double>::quiet_NaN() : result;
  result = x == kInfinity ? kInfinity : result;
  return x != x ? x : result;
}

SHARDLAB_INLINE double log1p(double x) {
  double series = x - x * x * (0.5 - x * (1.0 / 3));
  double whole = log(1.0 + x);
  return std::fabs(x) < 0x1p-17 ? series : whole;
}

SHARDLAB_INLINE double tanh(double x) {
  double clamped = x > 20 ? 20.0 : x;
  clamped = clamped < -20 ? -20.0 : clamped;
  double t = expm1(2 * clamped);
  return t / (t + 2);
}

// Reduces |x| < kTrigonometricMax to [-pi/4, pi/4]; the quadrant is in the low bits.
inline constexpr float kTrigonometricMax = 0x1p27f;
struct Reduced {
  double r;
  std::uint64_t quadrant;
};
SHARDLAB_INLINE Reduced reduce_quadrant(double x) {
  double shifted = x * 0x1.45f306dc9c883p-1 + kRound;
  double n = shifted - kRound;
  double r = x - n * 1.57079631090164184570e+00 - n * 1.58932547735281966916e-08;
  return {r, std::bit_cast<std::uint64_t>(shifted)};
}
SHARDLAB_INLINE double sin_kernel(double r) {
  double z = r * r;
  double p = -0x1.ae64567f544e4p-26;
  p = p * z + 0x1.71de3a556c734p-19;
  p = p * z + -0x1.a01a01a01a01ap-13;
  p = p * z + 0x1.1111111111111p-7;
  p = p * z + -0x1.5555555555555p-3;
  return r * (1.0 + z * p);
}
SHARDLAB_INLINE double cos_kernel(double r) {
  double z = r * r;
  double p = 0x1.1eed8eff8d898p-29;
  p = p * z + -0x1.27e4fb7789f5cp-22;
  p = p * z + 0x1.a01a01a01a01ap-16;
  p = p * z + -0x1.6c16c16c16c17p-10;
  p = p * z + 0x1.5555555555555p-5;
  return 1.0 - 0.5 * z + z * z * p;
}
SHARDLAB_INLINE double with_sign_of_bit(double value, std::uint64_t bit_at_63) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ bit_at_63);
}
SHARDLAB_INLINE double choose(std::uint64_t odd, double if_odd, double if_even) {
  std::uint64_t mask = 0 - odd;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(if_odd) & mask) | (std::bit_cast<std::uint64_t>(if_even) & ~mask));
}
SHARDLAB_INLINE double sin(double x) {
  Reduced q = reduce_quadrant(x);
  double value = choose(q.quadrant & 1, cos_kernel(q.r), sin_kernel(q.r));
  return with_sign_of_bit(value, (q.quadrant & 2) << 62);
}
SHARDLAB_INLINE double cos(double x) {
  Reduced q = reduce_quadrant(x);
  double value = choose(q.quadrant & 1, sin_kernel(q.r), cos_kernel(q.r));
  return with_sign_of_bit(value, ((q.quadrant + 1) & 2) << 62);
}
SHARDLAB_INLINE double tan(double x) {
  Reduced q = reduce_quadrant(x);
  double s = sin_kernel(q.r), c = cos_kernel(q.r);
  return choose(q.quadrant & 1, -c, s) / choose(q.quadrant & 1, s, c);
}

}  // namespace shardlab::ops::vector_math
