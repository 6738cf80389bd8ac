// Elementary functions of float in portable, branch-free double arithmetic: loops over them vectorise, and every machine gives the same
// bits, as what is fused is so by name. Errors stay below 0.51 units in the last place, as the last step rounds a double that is right to
// about 2^-35.
//
// Source: argument reductions and kernels of FreeBSD's msun (k_sinf.c, k_cosf.c, e_rem_pio2f.c); series for exp and log.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/ops/isa.h"

namespace shardlab::ops::vector_math {

inline constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer, which the low bits then hold

// a * b + c, rounded once.
SHARDLAB_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Coefficients from the highest power on.
template <std::size_t kTerms>
SHARDLAB_INLINE double polynomial(const double (&coefficients)[kTerms], double x) {
  double p = coefficients[0];
#pragma GCC unroll 32
  for (std::size_t i = 1; i < kTerms; ++i) p = fused(p, x, coefficients[i]);
  return p;
}

// a / b right to 2^-45, for b that float holds as a normal number: floats are divided four times as fast. 0 where b is beyond float.
SHARDLAB_INLINE double over(double a, double b) {
  const double guess = double(1.0f / float(b));
  return a * fused(guess, fused(-b, guess, 1.0), guess);
}

// e^x - 1 for |x| <= log(2) / 2, right to 2^-36.5: x + x^2 p(x), with p interpolated at Chebyshev's nodes.
SHARDLAB_INLINE double expm1_series(double r) {
  constexpr double kSeries[] = {0x1.a11320baff941p-16,
                                0x1.a1517aa6b9ad3p-13,
                                0x1.6c16858b2b60ep-10,
                                0x1.1110c6323fb7ep-7,
                                0x1.5555555c8722dp-5,
                                0x1.55555567534e9p-3,
                                0.5};
  return fused(r * r, polynomial(kSeries, r), r);
}

// What GCC makes of comparisons of doubles is slow: limits are kept, and special values told, in float.

// x with its size at most `limit`; a NaN becomes a number, too.
SHARDLAB_INLINE float within(float x, float limit) {
  const auto bits = std::bit_cast<std::int32_t>(x), most = std::bit_cast<std::int32_t>(limit), size = bits & 0x7fffffff;
  return std::bit_cast<float>((size < most ? size : most) | (bits & std::int32_t(0x80000000)));
}
SHARDLAB_INLINE float or_nan(float x, float result) { return x != x ? x : result; }

// e^x is scale + scale * series. For |x| of at most 200.
struct ExpParts {
  double scale, series;
};
SHARDLAB_INLINE ExpParts exp_parts(double x) {
  double shifted = fused(x, 0x1.71547652b82fep0, kRound);
  double n = shifted - kRound;
  double r = fused(-n, 0x1.62e42fefa39efp-1, x);
  return {std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52), expm1_series(r)};
}
SHARDLAB_INLINE double exp_within(double x) {
  ExpParts parts = exp_parts(x);
  return fused(parts.scale, parts.series, parts.scale);
}
// Where x is small the scale is 1, and nothing cancels.
SHARDLAB_INLINE double expm1_within(double x) {
  ExpParts parts = exp_parts(x);
  return fused(parts.scale, parts.series, parts.scale - 1.0);
}

inline constexpr float kExpMax = 104;  // e^104 rounds to infinity, e^-104 to 0
SHARDLAB_INLINE float exp(float x) { return or_nan(x, float(exp_within(within(x, kExpMax)))); }
// Zeros keep their sign.
SHARDLAB_INLINE float expm1(float x) { return or_nan(x, std::copysign(float(expm1_within(within(x, kExpMax))), x)); }
SHARDLAB_INLINE float tanh(float x) {
  double t = expm1_within(2 * within(x, 10));
  return or_nan(x, std::copysign(float(over(t, t + 2)), x));
}
// 1 / (1 + e^-x), of a negative x as e^x / (1 + e^x).
SHARDLAB_INLINE float logistic(float x) {
  const double t = exp_within(-std::fabs(within(x, kExpMax))), inverse = over(1.0, 1.0 + t);
  const float above = float(inverse), below = float(t * inverse);
  return or_nan(x, x < 0 ? below : above);
}

// exponent * log(2) + log(m), for m between sqrt(1/2) and sqrt(2), right to 2^-39.
SHARDLAB_INLINE double log_of(double exponent, double m) {
  constexpr double kSeries[] = {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3};
  double s = over(m - 1, m + 1), z = s * s, twice = 2 * s;
  return fused(exponent, 0x1.62e42fefa39efp-1, fused(twice * z, polynomial(kSeries, z), twice));
}
// Of x > 0 that is finite.
SHARDLAB_INLINE double log_of_positive(float x) {
  const bool is_tiny = x < std::numeric_limits<float>::min();
  const auto bits = std::bit_cast<std::int32_t>(is_tiny ? x * 0x1p23f : x);
  const std::int32_t exponent = (bits - 0x3f3504f3) >> 23;  // from the bits of sqrt(1/2)
  const float m = std::bit_cast<float>(bits - exponent * (1 << 23));
  return log_of(double(exponent - (is_tiny ? 23 : 0)), m);
}
// -infinity at 0, NaN below.
SHARDLAB_INLINE float log(float x) {
  float result = float(log_of_positive(x));
  result = x < std::numeric_limits<float>::infinity() ? result : x;
  result = x < 0 ? std::numeric_limits<float>::quiet_NaN() : result;
  result = x == 0 ? -std::numeric_limits<float>::infinity() : result;
  return or_nan(x, result);
}

// Of a double that is positive and neither huge nor tiny.
SHARDLAB_INLINE double log_of_double(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x) - 0x3fe6a09e667f3bcdULL + 0x3ff0000000000000ULL;  // from those of sqrt(1/2)
  const double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023);
  const double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) + 0x3fe6a09e667f3bcdULL);
  return log_of(exponent, m);
}
// -infinity at -1, NaN below.
SHARDLAB_INLINE float log1p(float x) {
  const double wide = x;
  const float series = float(fused(-wide * wide, fused(wide, -1.0 / 3, 0.5), wide));
  float result = std::fabs(x) < 0x1p-17f ? series : float(log_of_double(1.0 + wide));
  result = x < std::numeric_limits<float>::infinity() ? result : x;
  result = x < -1 ? std::numeric_limits<float>::quiet_NaN() : result;
  result = x == -1 ? -std::numeric_limits<float>::infinity() : result;
  return or_nan(x, result);
}

// x^y of x > 0, both finite: e^(y log x).
SHARDLAB_INLINE float pow(float x, float y) {
  double power = y * log_of_positive(x);
  power = power > kExpMax ? kExpMax : power;
  return float(exp_within(power < -kExpMax ? -kExpMax : power));
}

// The error function: an odd polynomial up to 1, another one to 4, where it has become 1. Interpolated at Chebyshev's nodes, to 2^-40 and
// 2^-35.
SHARDLAB_INLINE float erf(float x) {
  constexpr double kNear[] = {0x1.1c41d46edd367p-28,  -0x1.44977bec2a364p-24, 0x1.48652770ae05ap-20,
                              -0x1.263816b4dd8ebp-16, 0x1.c82aa2e1eb4f8p-13,  -0x1.2b902c4dd357fp-9,
                              0x1.454368016422p-6,    -0x1.1fd16291d5ec8p-3,  0x1.ee51eb23cb7eep-1};  // of erf(x) / x in 2 x^2 - 1
  constexpr double kFar[] = {-0x1.111aecd71fb62p-16, 0x1.14dac8b05bc95p-15, 0x1.52511517b207cp-14,  -0x1.34626e08fa4bap-12,
                             0x1.858b7ed7f3db7p-14,  0x1.e2039861706cdp-11, -0x1.e59e62b8fe5dfp-10, 0x1.d07e65bf8a8c1p-12,
                             0x1.2a74c328c3b3bp-8,   -0x1.3b4a9bdb51e1bp-7, 0x1.b5acec814ae94p-8,   0x1.2faf28c155bb8p-7,
                             -0x1.05216033f519ep-5,  0x1.7c8c3d61c9a99p-5,  -0x1.65965772bf2e6p-5,  0x1.cdba00f1468b1p-6,
                             -0x1.918057d9fc48ep-7,  0x1.ac44a25bb05ep-9,   0x1.ffcaa8f4c9bebp-1};  // in (|x| - 2.5) / 1.5
  const float size = std::fabs(x);
  const double wide = within(x, 4), square = fused(2 * wide, wide, -1.0);
  const float near = float(wide * polynomial(kNear, square));
  const float far = std::copysign(float(polynomial(kFar, fused(std::fabs(wide), 1 / 1.5, -2.5 / 1.5))), x);
  return or_nan(x, size < 1 ? near : far);
}

// Reduces |x| < kTrigonometricMax to [-pi/4, pi/4]; the quadrant is in the low bits.
inline constexpr float kTrigonometricMax = 0x1p27f;
struct Reduced {
  double r;
  std::uint64_t quadrant;
};
SHARDLAB_INLINE Reduced reduce_quadrant(double x) {
  double shifted = fused(x, 0x1.45f306dc9c883p-1, kRound);
  double n = shifted - kRound;
  double r = fused(-n, 1.58932547735281966916e-08, fused(-n, 1.57079631090164184570e+00, x));
  return {r, std::bit_cast<std::uint64_t>(shifted)};
}
SHARDLAB_INLINE double sin_kernel(double r) {
  constexpr double kSeries[] = {-0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19, -0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7,
                                -0x1.5555555555555p-3};
  double z = r * r;
  return r * fused(z, polynomial(kSeries, z), 1.0);  // zeros keep their sign
}
SHARDLAB_INLINE double cos_kernel(double r) {
  constexpr double kSeries[] = {0x1.1eed8eff8d898p-29, -0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16, -0x1.6c16c16c16c17p-10,
                                0x1.5555555555555p-5};
  double z = r * r;
  return fused(z * z, polynomial(kSeries, z), fused(-0.5, z, 1.0));
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
  return over(choose(q.quadrant & 1, -c, s), choose(q.quadrant & 1, s, c));
}

}  // namespace shardlab::ops::vector_math
