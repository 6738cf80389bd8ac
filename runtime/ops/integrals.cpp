// lgamma, digamma, igamma, igammac, betainc, expn, expi, erfcx, dawsn and other integrals: elementwise functions of real numbers, computed
// in double whatever the dtype.
#include <limits>

#include "runtime/ops/elementwise.h"

namespace shardlab::ops {
namespace {

// What the words of kernels mean here.
#define FN inline
using f64 = double;
using std::atan, std::copysign, std::cos, std::erf, std::erfc, std::exp, std::exp2, std::fabs, std::floor, std::frexp, std::isinf,
    std::ldexp, std::log, std::log1p, std::pow, std::rint, std::sin, std::sqrt, std::tan, std::tgamma;
template <typename T>
constexpr T infinity() {
  return std::numeric_limits<T>::infinity();
}
template <typename T>
constexpr T quiet_nan() {
  return std::numeric_limits<T>::quiet_NaN();
}
// Without the sign that ::lgamma leaves in a variable of the process.
inline f64 lgamma(f64 x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
#include "runtime/ops/integrals.inc"
#include "runtime/ops/waves.inc"
#undef FN

#define SHARDLAB_INTEGRAL(Name, function)           \
  struct Name {                                     \
    template <Real... T>                            \
    auto operator()(T... x) const                   \
      requires requires { function(double(x)...); } \
    {                                               \
      using First = std::common_type_t<T...>;       \
      return First(function(double(x)...));         \
    }                                               \
  };
SHARDLAB_INTEGRAL(Lgamma, real_lgamma)
SHARDLAB_INTEGRAL(Digamma, real_digamma)
SHARDLAB_INTEGRAL(Igamma, real_igamma)
SHARDLAB_INTEGRAL(Igammac, real_igammac)
SHARDLAB_INTEGRAL(IgammaGradA, real_igamma_grad_a)
SHARDLAB_INTEGRAL(RandomGammaGrad, real_random_gamma_grad)
SHARDLAB_INTEGRAL(RandomGammaGradByA, real_random_gamma_grad_by_a)
SHARDLAB_INTEGRAL(IncompleteBeta, real_regularized_incomplete_beta)
SHARDLAB_INTEGRAL(Expn, real_expn)
SHARDLAB_INTEGRAL(Expi, real_expi)
SHARDLAB_INTEGRAL(Hyp1f1, real_hyp1f1)
SHARDLAB_INTEGRAL(Hyp2f1, real_hyp2f1)
SHARDLAB_INTEGRAL(Hyp1f1GradA, real_hyp1f1_grad_a)
SHARDLAB_INTEGRAL(Hyp1f1GradB, real_hyp1f1_grad_b)
SHARDLAB_INTEGRAL(Hyp2f1GradA, real_hyp2f1_grad_a)
SHARDLAB_INTEGRAL(Hyp2f1GradB, real_hyp2f1_grad_b)
SHARDLAB_INTEGRAL(Hyp2f1GradC, real_hyp2f1_grad_c)
SHARDLAB_INTEGRAL(RoundToPrecision, real_round_to_precision)
SHARDLAB_INTEGRAL(Erfcx, real_erfcx)
SHARDLAB_INTEGRAL(Dawsn, real_dawsn)
SHARDLAB_INTEGRAL(SineIntegral, real_sine_integral)
SHARDLAB_INTEGRAL(CosineIntegral, real_cosine_integral)
SHARDLAB_INTEGRAL(FresnelSine, real_fresnel_sine)
SHARDLAB_INTEGRAL(FresnelCosine, real_fresnel_cosine)
SHARDLAB_INTEGRAL(OwensT, real_owens_t)

constexpr std::string_view kLgammaAliases[] = {"gammaln"}, kBetaAliases[] = {"betainc"};

}  // namespace

extern const OpDef kIgamma, kIgammac, kRandomGammaGrad, kRandomGammaGradByA, kIncompleteBeta, kExpn, kExpi, kHyp1f1, kHyp2f1, kHyp1f1GradA,
    kHyp1f1GradB, kHyp2f1GradA, kHyp2f1GradB, kHyp2f1GradC, kErfcx, kDawsn, kSineIntegral, kCosineIntegral, kFresnelSine, kFresnelCosine,
    kOwensT, kRoundToPrecision;

const OpDef kLgamma = unary_op<Lgamma>("lgamma", "The logarithm of |gamma(x)|.", expand_inexact, kLgammaAliases);
const OpDef kDigamma = unary_op<Digamma>("digamma", "The derivative of lgamma.", expand_inexact);
const OpDef kIgamma =
    binary_op<Igamma>("igamma", "The integral from 0 to x of t^(a-1) e^-t over gamma(a): args [a, x]; NaN below 0.", expand_inexact);
const OpDef kIgammac = binary_op<Igammac>("igammac", "1 - igamma(a, x), accurate for large x.", expand_inexact);
const OpDef kIgammaGradA = binary_op<IgammaGradA>("igamma_grad_a", "The derivative of igamma by a.", expand_inexact);
const OpDef kRandomGammaGrad = strong(binary_op<RandomGammaGrad>(
    "random_gamma_grad", "The derivative by a of a sample x of the gamma distribution: args [a, x].", expand_inexact));
const OpDef kRandomGammaGradByA = strong(elementwise_op<RandomGammaGradByA, 3>(
    "random_gamma_grad_by_a", "The n-th derivative of random_gamma_grad by a: args [n, a, x], n below 16; NaN of other n.",
    expand_inexact));
const OpDef kIncompleteBeta = elementwise_op<IncompleteBeta, 3>(
    "regularized_incomplete_beta", "The integral from 0 to x of t^(a-1) (1-t)^(b-1) over beta(a, b): args [a, b, x].", expand_inexact,
    kBetaAliases);
const OpDef kExpn = strong(binary_op<Expn>("expn", "The integral from 1 on of e^(-x t) / t^n: args [n, x]; NaN below 0.", expand_inexact));
const OpDef kExpi = strong(unary_op<Expi>("expi", "The integral from -infinity to x of e^t / t, its principal value.", expand_inexact));
const OpDef kHyp1f1 = strong(elementwise_op<Hyp1f1, 3>("hyp1f1", "Kummer's hypergeometric function 1F1: args [a, b, x].", expand_inexact));
const OpDef kHyp2f1 =
    strong(elementwise_op<Hyp2f1, 4>("hyp2f1", "Gauss's hypergeometric function 2F1: args [a, b, c, x].", expand_inexact));
const OpDef kHyp1f1GradA =
    strong(elementwise_op<Hyp1f1GradA, 3>("hyp1f1_grad_a", "The derivative of hyp1f1 by a: args [a, b, x].", expand_inexact));
const OpDef kHyp1f1GradB =
    strong(elementwise_op<Hyp1f1GradB, 3>("hyp1f1_grad_b", "The derivative of hyp1f1 by b: args [a, b, x].", expand_inexact));
const OpDef kHyp2f1GradA =
    strong(elementwise_op<Hyp2f1GradA, 4>("hyp2f1_grad_a", "The derivative of hyp2f1 by a: args [a, b, c, x].", expand_inexact));
const OpDef kHyp2f1GradB =
    strong(elementwise_op<Hyp2f1GradB, 4>("hyp2f1_grad_b", "The derivative of hyp2f1 by b: args [a, b, c, x].", expand_inexact));
const OpDef kHyp2f1GradC =
    strong(elementwise_op<Hyp2f1GradC, 4>("hyp2f1_grad_c", "The derivative of hyp2f1 by c: args [a, b, c, x].", expand_inexact));
const OpDef kRoundToPrecision = elementwise_op<RoundToPrecision, 3>(
    "round_to_precision", "Rounded to numbers of fewer bits: args [x, exponent_bits, mantissa_bits].", expand_inexact);
const OpDef kErfcx = unary_op<Erfcx>("erfcx", "exp(x^2) erfc(x), of real numbers.", expand_inexact);
const OpDef kDawsn = unary_op<Dawsn>("dawsn", "exp(-x^2) times the integral from 0 to x of exp(t^2).", expand_inexact);
const OpDef kSineIntegral = unary_op<SineIntegral>("sine_integral", "The integral from 0 to x of sin(t) / t.", expand_inexact);
const OpDef kCosineIntegral = unary_op<CosineIntegral>("cosine_integral", "Minus the integral from |x| on of cos(t) / t.", expand_inexact);
const OpDef kFresnelSine = unary_op<FresnelSine>("fresnel_sine", "The integral from 0 to x of sin(pi t^2 / 2).", expand_inexact);
const OpDef kFresnelCosine = unary_op<FresnelCosine>("fresnel_cosine", "The integral from 0 to x of cos(pi t^2 / 2).", expand_inexact);
const OpDef kOwensT =
    binary_op<OwensT>("owens_t", "The integral from 0 to a of exp(-h^2 (1 + u^2) / 2) / (1 + u^2) over 2 pi: args [h, a].", expand_inexact);

}  // namespace shardlab::ops
