// sici, fresnel, wofz: functions of jax.scipy.special of two results, or of complex numbers.
#include <cmath>
#include <complex>

#include "runtime/ops/compose.h"

namespace shardlab::ops {
namespace {

Term real_term(GraphBuilder& b, const OpDef& op, Args args) {
  const Term x = as_inexact(term(b, args[0]));
  if (is_complex(x.dtype())) throw_user_error("Argument `x` to {} must be real-valued. Got dtype {}.", op.name, name_of(x.dtype()));
  return x;
}
Values expand_sici(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term x = real_term(b, op, args);
  return {call("sine_integral", x).id(), call("cosine_integral", x).id()};
}
Values expand_fresnel(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term x = real_term(b, op, args);
  return {call("fresnel_sine", x).id(), call("fresnel_cosine", x).id()};
}

// Source: Weideman, 1994, of 32 terms; for numbers whose imaginary part is not negative.
constexpr double kWidth = 4.7568284600108841;
constexpr double kFaddeeva[] = {-1.3034426067909105e-12, 3.7411838373738471e-12,  8.030427700497756e-12,   -2.1543593557490879e-11,
                                -5.5442449963237932e-11, 1.165824698850374e-10,   4.1537441121999766e-10,  -5.2310202114920615e-10,
                                -3.2080151339721323e-09, 8.1248864216535907e-10,  2.3797556530014025e-08,  2.2930438438915445e-08,
                                -1.4813078929137642e-07, -4.1840763750512053e-07, 4.2558331397138446e-07,  4.4015317312832251e-06,
                                6.8210319443575151e-06,  -2.1409619201999998e-05, -0.00013075449254579421, -0.00024532980270038237,
                                0.00039259136070109705,  0.0045195411053493093,   0.019006155784845501,    0.057304403529837282,
                                0.14060716226893755,     0.29544451071508743,     0.54601397206393376,     0.9019254893648001,
                                1.3455441692345449,      1.8256696296324815,      2.2635372999002676,      2.5722534081245696};

// exp(-z^2) erfc(-i z): a rational function above the real axis, below it by reflection. What is not taken is kept finite, so that the
// derivative is.
Values expand_wofz(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Term z = as_inexact(term(b, args[0]));
  if (!is_complex(z.dtype())) z = converted(z, z.dtype() == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64);
  const Term is_upper = call("imag", z) >= 0.0, upper = selected(is_upper, z, -z);
  const Term iz = upper * Item(Scalar{std::complex<double>(0, 1)});
  const Term below = kWidth - iz, ratio = (kWidth + iz) / below;
  Term sum = filled_like(ratio, kFaddeeva[0]);
  for (double each : std::span(kFaddeeva).subspan(1)) sum = sum * ratio + each;
  const Term value = 2.0 * sum / (below * below) + 1 / std::sqrt(M_PI) / below, low = selected(is_upper, 0.0, z);
  return {selected(is_upper, value, 2.0 * call("exp", -(low * low)) - value).id()};
}

}  // namespace

extern const OpDef kFresnel, kSici, kWofz;

const OpDef kSici =
    composite_of({"sici", "The integrals of sin(t) / t from 0 to x, and of cos(t) / t from x on, with a minus.", expand_sici});
const OpDef kFresnel = composite_of({"fresnel", "Fresnel's integrals S and C, of sin and cos of pi t^2 / 2 from 0 to x.", expand_fresnel});
const OpDef kWofz = composite_of({"wofz", "The Faddeeva function exp(-z^2) erfc(-i z), complex.", expand_wofz});

}  // namespace shardlab::ops
