// jax.scipy.stats: densities, their logarithms, integrals and inverses, as functions of a value and the distribution's parameters.
#pragma once

#include <limits>

#include "runtime/ops/compose.h"

namespace shardlab::ops {

// The value, then the parameters in their order; numbers of one dtype, each in a shape of its own.
using DistributionTerms = std::span<const Term>;
using DistributionFunction = Term (*)(DistributionTerms);

struct DistributionParameter {
  std::string_view name;
  std::optional<std::int64_t> otherwise = {};
};
struct DistributionMember {
  std::string_view name;  // logpdf, cdf …
  DistributionFunction function;
  Weakness weakness = Weakness::kNever;  // as jax.scipy.stats has it, function by function
  bool takes_complex = false;            // likewise
};
inline constexpr Weakness kWeak = Weakness::kOfAll, kStrong = Weakness::kNever;
inline constexpr bool kComplexToo = true;
struct Distribution {
  std::string_view name, called;
  std::span<const DistributionParameter> parameters;
  std::span<const DistributionMember> members;
};

std::span<const Distribution> continuous_distributions();
std::span<const Distribution> discrete_distributions();

inline constexpr double kNoChance = -std::numeric_limits<double>::infinity(), kNoValue = std::numeric_limits<double>::quiet_NaN();

// A function that JAX jits, called from another one or by the user.
template <DistributionFunction function>
Term compiled(DistributionTerms given) {
  const GraphBuilder::OpenCall open(given[0].builder());
  return function(given);
}
template <DistributionFunction function>
Term exp_of(DistributionTerms given) {
  return call("exp", function(given));
}
template <DistributionFunction function>
Term log_of(DistributionTerms given) {
  return call("log", function(given));
}

}  // namespace shardlab::ops
