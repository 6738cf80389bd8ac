// The table of derivatives: what elementwise ops of one and two operands have as jvp and transpose.
//
// Such an op takes its rules from here by its name, so that the functions' files hold kernels and this one calculus.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// clang-format off
#define SHARDLAB_ELEMENTWISE_JVPS(X) \
  X(neg) X(conj) X(real) X(imag) X(abs) X(sign) X(floor) X(ceil) X(round) X(trunc) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(tanh) X(asin) X(acos) X(atan) \
  X(asinh) X(acosh) X(atanh) X(exp) X(expm1) X(exp2) X(log) X(log1p) X(sqrt) X(rsqrt) X(cbrt) X(square) X(logistic) X(erf) X(erfc) \
  X(erf_inv) X(digamma) X(lgamma) X(add) X(sub) X(mul) X(div) X(rem) X(remainder) X(pow) X(atan2) X(complex) X(maximum) X(minimum) X(relu) \
  X(igamma) X(igammac) X(regularized_incomplete_beta) X(random_gamma_grad) X(random_gamma_grad_by_a) X(expn) X(expi) X(hyp1f1) X(hyp2f1) \
  X(erfcx) X(dawsn) X(sine_integral) X(cosine_integral) X(fresnel_sine) X(fresnel_cosine) X(owens_t) X(round_to_precision)
#define SHARDLAB_ELEMENTWISE_TRANSPOSES(X) X(neg) X(conj) X(real) X(imag) X(add) X(sub) X(mul) X(div) X(complex) X(round_to_precision)
// clang-format on

#define SHARDLAB_DECLARE(name) std::vector<ValueId> name##_jvp(GraphBuilder&, const JvpArgs&);
SHARDLAB_ELEMENTWISE_JVPS(SHARDLAB_DECLARE)
#undef SHARDLAB_DECLARE
#define SHARDLAB_DECLARE(name) std::vector<ValueId> name##_transpose(GraphBuilder&, const TransposeArgs&);
SHARDLAB_ELEMENTWISE_TRANSPOSES(SHARDLAB_DECLARE)
#undef SHARDLAB_DECLARE

constexpr JvpRule elementwise_jvp(std::string_view name) {
#define SHARDLAB_RULE(known) \
  if (name == #known) return known##_jvp;
  SHARDLAB_ELEMENTWISE_JVPS(SHARDLAB_RULE)
#undef SHARDLAB_RULE
  return nullptr;
}

constexpr TransposeRule elementwise_transpose(std::string_view name) {
#define SHARDLAB_RULE(known) \
  if (name == #known) return known##_transpose;
  SHARDLAB_ELEMENTWISE_TRANSPOSES(SHARDLAB_RULE)
#undef SHARDLAB_RULE
  return nullptr;
}

}  // namespace shardlab::ops
