// Elementwise special functions of real numbers: erf and its kin.
#include <bit>

#include "runtime/ops/elementwise.h"
#include "runtime/ops/inverse_erf.h"
#include "runtime/ops/vector_math.h"

namespace shardlab::ops {
namespace {

struct Erf {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return vector_math::erf(x);
    else
      return std::erf(x);
  }
};
SHARDLAB_REAL_FUNCTION(Erfc, std::erfc)

// a * b + c, rounded once.
SHARDLAB_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Logarithms with the roundings of XLA's, so that normal random numbers have JAX's bits. Source: Cephes, logf.c and unity.c.
SHARDLAB_INLINE float cephes_log(float x) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  float exponent = float(int(bits >> 23) - 127) + 1.0f;
  float m = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f000000u);
  bool small = m < 0.707106781186547524f;
  float r = (m - 1.0f) + (small ? m : 0.0f);
  exponent -= small ? 1.0f : 0.0f;
  float square = r * r, cube = square * r;
  float p = fused(fused(7.0376836292E-2f, r, -1.1514610310E-1f), r, 1.1676998740E-1f);
  float q = fused(fused(-1.2420140846E-1f, r, 1.4249322787E-1f), r, -1.6668057665E-1f);
  float s = fused(fused(2.0000714765E-1f, r, -2.4999993993E-1f), r, 3.3333331174E-1f);
  float y = fused(fused(p, cube, q), cube, s);
  y = fused(y, cube, -2.12194440e-4f * exponent);
  return fused(0.693359375f, exponent, fused(-0.5f, square, r) + y);
}

SHARDLAB_INLINE float cephes_log1p(float x) {
  constexpr float kOver[] = {4.5270000862445199e-5f, 0.49854102823193375f, 6.5787325942061045f, 29.911919328553073f,
                             60.949667980987787f,    57.112963590585538f,  20.039553499201281f};
  constexpr float kUnder[] = {
      1.0f, 15.062909083469192f, 83.04756596796722f, 221.76239823732857f, 309.0987222531206f, 216.42788614495947f, 60.118660497603843f};
  float over = 0, under = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 7; ++i) {
    over = fused(over, x, kOver[i]);
    under = fused(under, x, kUnder[i]);
  }
  float square = x * x;
  float small = x + fused(-0.5f, square, (x * square) * (over / under));
  float large = cephes_log(x + 1.0f);
  return std::fabs(x) < 0.41421356237309504880f ? small : large;
}

// p(w) x with w = -log(1 - x^2). Source: M. Giles, "Approximating the erfinv function", in the roundings of XLA.
struct ErfInv {
  SHARDLAB_INLINE float operator()(std::same_as<float> auto x) const {
    constexpr float kCentre[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                 -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
    constexpr float kTail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                               -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
    float w = -cephes_log1p(-x * x);
    bool centre = w < 5.0f;
    float at = centre ? w - 2.5f : std::sqrt(w) - 3.0f;
    float p = centre ? kCentre[0] : kTail[0];
#pragma GCC unroll 8
    for (int i = 1; i < 9; ++i) p = fused(p, at, centre ? kCentre[i] : kTail[i]);
    return std::fabs(x) == 1.0f ? x * std::numeric_limits<float>::infinity()
                                : (std::fabs(x) > 1.0f ? std::numeric_limits<float>::quiet_NaN() : p * x);
  }
  // The start by the float series, two Newton steps on erf (erfc in the tails).
  double operator()(std::same_as<double> auto x) const {
    if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? x * kInfinity : std::numeric_limits<double>::quiet_NaN();
    double start = double((*this)(float(x)));
    double y = std::isfinite(start) ? start : std::copysign(3.9, x);
    for (int i = 0; i < 4; ++i) {
      double tail = (1 - std::fabs(x)) - std::erfc(std::fabs(y));
      double error = std::fabs(x) < 0.5 ? std::erf(y) - x : (x < 0 ? -tail : tail);
      double step = error / (2 / std::sqrt(M_PI) * std::exp(-y * y));
      y -= step / (1 + y * step);  // Halley: erf'' = -2 y erf'
    }
    return y;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
};

constexpr std::string_view kErfInvAliases[] = {"erfinv"};

}  // namespace

float inverse_erf(float x) { return ErfInv()(x); }
double inverse_erf(double x) { return ErfInv()(x); }

constexpr OpDef unpropagated(OpDef op) {
  op.propagates = false;
  return op;
}
const OpDef kErf = unpropagated(unary_op<Erf>("erf", "The error function of real numbers.", expand_inexact));
const OpDef kErfc = unary_op<Erfc>("erfc", "1 - erf(x), accurate for large x.", expand_inexact);
const OpDef kErfInv = unary_op<ErfInv>("erf_inv", "The inverse of erf; infinite at -1 and 1, NaN beyond.", expand_inexact, kErfInvAliases);

}  // namespace shardlab::ops
