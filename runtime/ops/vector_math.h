// Elementary functions of float in portable, branch-free arithmetic: loops over them vectorise, and every machine gives the same bits, as
// what is fused is so by name. Some compute in double, right to about 2^-35, and round once: below 0.51 units in the last place. Those that
// would divide (tanh, log, log1p) compute in float, where a vector holds twice as many and division is fast, and carry what rounding leaves
// of the large terms: below 0.63.
//
// Source: argument reductions and kernels of FreeBSD's msun (k_sinf.c, k_cosf.c, e_rem_pio2f.c); series for exp and log; sums with their
// remainders of T. J. Dekker, A floating-point technique for extending the available precision (1971).
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
SHARDLAB_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Coefficients from the highest power on.
template <typename T, std::size_t kTerms>
SHARDLAB_INLINE T polynomial(const T (&coefficients)[kTerms], T x) {
  T p = coefficients[0];
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

// 1 / (1 + e^-x), of a negative x as e^x / (1 + e^x).
SHARDLAB_INLINE float logistic(float x) {
  const double t = exp_within(-std::fabs(within(x, kExpMax))), inverse = over(1.0, 1.0 + t);
  const float above = float(inverse), below = float(t * inverse);
  return or_nan(x, x < 0 ? below : above);
}

// --- In float: a value is the sum of `main` and what rounding left, `rest`.

inline constexpr float kFloatRound = 0x1.8p23f;                            // as kRound
inline constexpr float kLog2 = 0x1.62e4p-1f, kLog2Rest = 0x1.7f7d1cp-20f;  // log(2); an exponent times the first one is exact

// 2^n, for n from -126 to 127.
SHARDLAB_INLINE float power_of_two(std::int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

// e^x is (main + rest) * 2^n, right to 2^-28. For |x| of at most 200.
struct FloatExpParts {
  float main, rest;
  std::int32_t n;
};
SHARDLAB_INLINE FloatExpParts float_exp_parts(float x) {
  constexpr float kSeries[] = {0x1.a19ff8p-13f, 0x1.6d51fcp-10f, 0x1.111092p-7f, 0x1.5554e4p-5f, 0x1.555556p-3f, 0.5f};
  const float shifted = fused(x, 0x1.715476p0f, kFloatRound), n = shifted - kFloatRound;
  const float reduced = fused(-n, kLog2, x);  // exact
  const float r = fused(-n, kLog2Rest, reduced), r_rest = fused(-n, kLog2Rest, reduced - r);
  const float one_and_r = 1 + r, series = (r - (one_and_r - 1)) + fused(r * r, polynomial(kSeries, r), r_rest);
  const float main = one_and_r + series;
  return {main, (one_and_r - main) + series, std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kFloatRound)};
}

// Up to 0.4 an odd series, then 1 - 2 / (e^2x + 1).
SHARDLAB_INLINE float tanh(float x) {
  constexpr float kSeries[] = {-0x1.de2e0ap-8f, 0x1.61ce32p-6f, -0x1.b9ecep-5f, 0x1.1110a6p-3f, -0x1.555554p-2f};
  const float size = std::fabs(within(x, 10)), square = size * size;
  const float near = fused(size, square * polynomial(kSeries, square), size);
  const FloatExpParts parts = float_exp_parts(2 * size);
  const float scale = power_of_two(parts.n), power = parts.main * scale;
  const float divisor = power + 1, divisor_rest = fused(parts.rest, scale, (power - divisor) + 1);
  const float quotient = 2 / divisor;
  const float quotient_rest = fused(-quotient, divisor_rest, fused(-quotient, divisor, 2)) * (quotient * 0.5f);
  const float main = 1 - quotient, far = main + (((1 - main) - quotient) - quotient_rest);
  return or_nan(x, std::copysign(size < 0.4f ? near : far, x));
}

// exponent * log(2) + log(1 + f + f_rest), for |f| of at most 1/3, right to 2^-30 of f.
SHARDLAB_INLINE float float_log_of(float exponent, float f, float f_rest) {
  constexpr float kSeries[] = {0x1.fa2e48p-4f,  -0x1.071be2p-3f, 0x1.b4b0cp-4f,   -0x1.f384d6p-4f, 0x1.25207cp-3f,
                               -0x1.55993ap-3f, 0x1.9995f6p-3f,  -0x1.ffff0ep-3f, 0x1.555558p-2f};
  const float half = -0.5f * f, square = fused(half, f, f), square_rest = fused(half, f, f - square);  // f - f^2 / 2
  const float series = fused(f * f * f, polynomial(kSeries, f), square_rest + f_rest);
  const float whole = exponent * kLog2, main = whole + square, main_rest = (whole - main) + square;
  return main + fused(exponent, kLog2Rest, main_rest + series);
}
// How often 2 goes into a positive float, down to 2/3.
SHARDLAB_INLINE std::int32_t exponent_from_two_thirds(float x) { return std::int32_t(std::bit_cast<std::uint32_t>(x) - 0x3f2aaaabU) >> 23; }

// What log gives for x, given what it is where x is positive and finite.
SHARDLAB_INLINE float log_or_special(float x, float zero, float result) {
  result = x < std::numeric_limits<float>::infinity() ? result : x;
  result = x < zero ? std::numeric_limits<float>::quiet_NaN() : result;
  result = x == zero ? -std::numeric_limits<float>::infinity() : result;
  return or_nan(x, result);
}
// -infinity at 0, NaN below.
SHARDLAB_INLINE float log(float x) {
  const bool is_tiny = x < std::numeric_limits<float>::min();
  const float normal = is_tiny ? x * 0x1p23f : x;
  const std::int32_t exponent = exponent_from_two_thirds(normal);
  const float m = std::bit_cast<float>(std::bit_cast<std::uint32_t>(normal) - (std::uint32_t(exponent) << 23));
  return log_or_special(x, 0, float_log_of(float(exponent - (is_tiny ? 23 : 0)), m - 1, 0));
}
// -infinity at -1, NaN below.
SHARDLAB_INLINE float log1p(float x) {
  const std::int32_t exponent = exponent_from_two_thirds(1 + x);
  // (1 + x) / 2^exponent is 1 + f; by a quarter of x, since 2^-128 is no normal number.
  const float scale = power_of_two(2 - exponent), quarter = 0.25f * x, less = fused(scale, 0.25f, -1.0f);
  const float f = fused(quarter, scale, less), f_rest = fused(quarter, scale, less - f);
  const float result = float_log_of(float(exponent), f, fused(-f, fused(-f, f_rest, f_rest), f_rest));  // f_rest / (1 + f)
  return log_or_special(x, -1, std::fabs(x) < 0x1p-30f ? x : result);
}

// --- In double again.

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

// Reductions of |x| < kTrigonometricMax, by pi / 2 = kQuarter + kQuarterRest.
inline constexpr float kTrigonometricMax = 0x1p27f;
inline constexpr double kQuarter = 1.57079631090164184570e+00, kQuarterRest = 1.58932547735281966916e-08;

// The sine of |r| <= pi / 2, negated where the lowest bit is set; right to 2^-35. Zeros keep their sign.
SHARDLAB_INLINE double sin_of_half_turn(double r, std::uint64_t bits) {
  constexpr double kSeries[] = {-0x1.9a678264e7bb2p-26, 0x1.717074d27bdcbp-19, -0x1.a017d94a4b916p-13, 0x1.11110c4901942p-7,
                                -0x1.5555554765beep-3};
  const double square = r * r, value = r * fused(square, polynomial(kSeries, square), 1.0);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (bits << 63));
}
SHARDLAB_INLINE double sin(double x) {
  const double shifted = fused(x, 0x1.45f306dc9c883p-2, kRound), n = shifted - kRound;  // of half turns
  return sin_of_half_turn(fused(-n, 2 * kQuarterRest, fused(-n, 2 * kQuarter, x)), std::bit_cast<std::uint64_t>(shifted));
}
// Of a quarter of a turn and r it is -sin(r).
SHARDLAB_INLINE double cos(double x) {
  const double shifted = fused(x, 0x1.45f306dc9c883p-2, -0.5) + kRound, n = (shifted - kRound) + 0.5;
  return sin_of_half_turn(fused(-n, 2 * kQuarterRest, fused(-n, 2 * kQuarter, x)), ~std::bit_cast<std::uint64_t>(shifted));
}

SHARDLAB_INLINE double choose(std::uint64_t odd, double if_odd, double if_even) {
  std::uint64_t mask = 0 - odd;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(if_odd) & mask) | (std::bit_cast<std::uint64_t>(if_even) & ~mask));
}
// From sine and cosine within [-pi / 4, pi / 4].
SHARDLAB_INLINE double tan(double x) {
  constexpr double kSine[] = {-0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19, -0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7,
                              -0x1.5555555555555p-3};
  constexpr double kCosine[] = {0x1.1eed8eff8d898p-29, -0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16, -0x1.6c16c16c16c17p-10,
                                0x1.5555555555555p-5};
  const double shifted = fused(x, 0x1.45f306dc9c883p-1, kRound), n = shifted - kRound;
  const double r = fused(-n, kQuarterRest, fused(-n, kQuarter, x)), z = r * r;
  const double s = r * fused(z, polynomial(kSine, z), 1.0);  // zeros keep their sign
  const double c = fused(z * z, polynomial(kCosine, z), fused(-0.5, z, 1.0));
  const std::uint64_t odd = std::bit_cast<std::uint64_t>(shifted) & 1;
  return over(choose(odd, -c, s), choose(odd, s, c));
}

}  // namespace shardlab::ops::vector_math
