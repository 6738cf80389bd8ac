// Elementwise ops of one operand: trigonometric, hyperbolic, exponential functions and their inverses.
#include "runtime/ops/elementwise.h"
#include "runtime/ops/vector_math.h"

namespace shardlab::ops {
namespace {

#define SHARDLAB_TRIGONOMETRIC(Name, function)                                                                                   \
  struct Name {                                                                                                                  \
    template <Real T>                                                                                                            \
    SHARDLAB_INLINE T operator()(T x) const {                                                                                    \
      if constexpr (std::is_same_v<T, float>)                                                                                    \
        return T(vector_math::function(x));                                                                                      \
      else                                                                                                                       \
        return std::function(x);                                                                                                 \
    }                                                                                                                            \
    SHARDLAB_INLINE static bool is_hard(std::same_as<float> auto x) { return !(std::fabs(x) < vector_math::kTrigonometricMax); } \
    static float hard(std::same_as<float> auto x) { return float(std::function(double(x))); }                                    \
    template <Cplx T>                                                                                                            \
    SHARDLAB_INLINE T operator()(T x) const {                                                                                    \
      return in_double(x, [](Complex128 z) { return std::function(z); });                                                        \
    }                                                                                                                            \
  };
SHARDLAB_TRIGONOMETRIC(Sin, sin)
SHARDLAB_TRIGONOMETRIC(Cos, cos)
SHARDLAB_TRIGONOMETRIC(Tan, tan)
#undef SHARDLAB_TRIGONOMETRIC

SHARDLAB_VECTOR_FUNCTION(Exp, exp, [](Complex128 z) { return std::exp(z); })
SHARDLAB_VECTOR_FUNCTION(Log, log, [](Complex128 z) { return std::log(z); })
SHARDLAB_VECTOR_FUNCTION(Tanh, tanh, [](Complex128 z) { return std::tanh(z); })
SHARDLAB_VECTOR_FUNCTION(Expm1, expm1, [](Complex128 z) {
  double half = std::sin(z.imag() / 2);  // without cancellation for small z
  return Complex128(std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half, std::exp(z.real()) * std::sin(z.imag()));
})
SHARDLAB_VECTOR_FUNCTION(Log1p, log1p, [](Complex128 z) {
  double re = z.real(), im = z.imag();
  return Complex128(0.5 * std::log1p(re * (2 + re) + im * im), std::atan2(im, 1 + re));
})

SHARDLAB_MATH_FUNCTION(Asin, std::asin, [](Complex128 z) { return std::asin(z); })
SHARDLAB_MATH_FUNCTION(Acos, std::acos, [](Complex128 z) { return std::acos(z); })
SHARDLAB_MATH_FUNCTION(Atan, std::atan, [](Complex128 z) { return std::atan(z); })
SHARDLAB_MATH_FUNCTION(Sinh, std::sinh, [](Complex128 z) { return std::sinh(z); })
SHARDLAB_MATH_FUNCTION(Cosh, std::cosh, [](Complex128 z) { return std::cosh(z); })
SHARDLAB_MATH_FUNCTION(Asinh, std::asinh, [](Complex128 z) { return std::asinh(z); })
SHARDLAB_MATH_FUNCTION(Acosh, std::acosh, [](Complex128 z) { return std::acosh(z); })
SHARDLAB_MATH_FUNCTION(Atanh, std::atanh, [](Complex128 z) { return std::atanh(z); })
SHARDLAB_MATH_FUNCTION(Exp2, std::exp2, [](Complex128 z) { return std::exp(z * std::log(2.0)); })

struct Logistic {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return vector_math::logistic(x);
    else
      return 1.0 / (1.0 + std::exp(-x));
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return in_double(x, [](Complex128 z) { return 1.0 / (1.0 + std::exp(-z)); });
  }
};

constexpr std::string_view kLogisticAliases[] = {"sigmoid", "expit"};
constexpr std::string_view kAsinAliases[] = {"arcsin"};
constexpr std::string_view kAcosAliases[] = {"arccos"};
constexpr std::string_view kAtanAliases[] = {"arctan"};
constexpr std::string_view kAsinhAliases[] = {"arcsinh"};
constexpr std::string_view kAcoshAliases[] = {"arccosh"};
constexpr std::string_view kAtanhAliases[] = {"arctanh"};

}  // namespace

const OpDef kSin = unary_op<Sin>("sin", "The sine in radians. Integers become float32.", expand_inexact);
const OpDef kCos = unary_op<Cos>("cos", "The cosine in radians. Integers become float32.", expand_inexact);
const OpDef kTan = unary_op<Tan>("tan", "The tangent in radians. Integers become float32.", expand_inexact);
const OpDef kAsin = unary_op<Asin>("asin", "The inverse of the sine; NaN beyond 1.", expand_inexact, kAsinAliases);
const OpDef kAcos = unary_op<Acos>("acos", "The inverse of the cosine; NaN beyond 1.", expand_inexact, kAcosAliases);
const OpDef kAtan = unary_op<Atan>("atan", "The inverse of the tangent.", expand_inexact, kAtanAliases);
const OpDef kSinh = unary_op<Sinh>("sinh", "The hyperbolic sine. Integers become float32.", expand_inexact);
const OpDef kCosh = unary_op<Cosh>("cosh", "The hyperbolic cosine. Integers become float32.", expand_inexact);
const OpDef kTanh = unary_op<Tanh>("tanh", "The hyperbolic tangent. Integers become float32.", expand_inexact);
const OpDef kAsinh = unary_op<Asinh>("asinh", "The inverse of the hyperbolic sine.", expand_inexact, kAsinhAliases);
const OpDef kAcosh = unary_op<Acosh>("acosh", "The inverse of the hyperbolic cosine; NaN below 1.", expand_inexact, kAcoshAliases);
const OpDef kAtanh = unary_op<Atanh>("atanh", "The inverse of the hyperbolic tangent; NaN beyond 1.", expand_inexact, kAtanhAliases);
const OpDef kExp = unary_op<Exp>("exp", "e to the power x. Integers become float32.", expand_inexact);
const OpDef kExp2 = unary_op<Exp2>("exp2", "2 to the power x. Integers become float32.", expand_inexact);
const OpDef kExpm1 = unary_op<Expm1>("expm1", "exp(x) - 1, accurate for small x. Integers become float32.", expand_inexact);
const OpDef kLog = unary_op<Log>("log", "The natural logarithm; -inf at 0, NaN below. Integers become float32.", expand_inexact);
const OpDef kLog1p = unary_op<Log1p>("log1p", "log(1 + x), accurate for small x. Integers become float32.", expand_inexact);
const OpDef kLogistic = unary_op<Logistic>("logistic", "1 / (1 + exp(-x)).", expand_inexact, kLogisticAliases);

}  // namespace shardlab::ops
