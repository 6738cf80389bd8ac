// Logarithms of sums of two exponentials: logaddexp, logaddexp2, softplus.
#include <cmath>
#include <limits>

#include "runtime/ops/loops.h"

namespace shardlab::ops {
namespace {

template <int kBase>
Term power_of(const Term& x) {
  return call(kBase == 2 ? "exp2" : "exp", x);
}
template <int kBase>
constexpr double kLogOfBase = kBase == 2 ? M_LN2 : 1;

// x between -limit and limit, whole turns left out.
Term wrapped(const Term& x, double limit) {
  const Term rest = call(x.builder(), "fmod", {x + limit, 2 * limit});
  return selected(rest < 0.0, rest + 2 * limit, rest) - limit;
}

// max(x, y) + log1p(exp(-|x - y|)); NaN passed on. Of complex numbers, with the imaginary part in one turn.
template <int kBase>
Term log_sum(const Terms& xy) {
  const Term &x = xy[0], &y = xy[1], larger = call(x.builder(), "maximum", {x, y});
  auto sum_at = [&](const Term& distance) {
    const Term tail = call("log1p", power_of<kBase>(distance));
    return larger + (kBase == 2 ? tail / kLogOfBase<kBase> : tail);
  };
  if (!is_complex(x.dtype())) {
    const Term difference = x - y;
    return selected(difference != difference, x + y, sum_at(-call("abs", difference)));
  }
  const Term sum = sum_at((x + y) - larger * 2.0);
  const Term angle = wrapped(call("imag", sum), M_PI / kLogOfBase<kBase>);
  return call("real", sum) + angle * Item(Scalar{std::complex<double>(0, 1)});
}

// The share that x has in the sum, in which infinity is taken for 0: it may be the sum itself.
template <int kBase>
Term share(const Term& x, const Term& sum) {
  auto finite = [](const Term& z) {
    const Term size = is_complex(z.dtype()) ? call("real", z) : z;
    return selected(size == std::numeric_limits<double>::infinity(), 0.0, z);
  };
  return power_of<kBase>(finite(x) - finite(sum));
}

template <int kBase>
Values expand_logaddexp(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Terms xy;
  for (ValueId id : ranked_together(b, op.name, args, inexact(promoted_dtype(b, args)))) xy.emplace_back(b, id);
  auto tangent = [](const Terms& at, const Term& sum, const Terms& tangents) {
    const Term by_x = tangents[0] * share<kBase>(at[0], sum);
    return by_x + tangents[1] * share<kBase>(at[1], sum);
  };
  return {with_derivative(xy, {log_sum<kBase>, tangent}).id()};
}

Values expand_softplus(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  auto value = [](const Terms& x) { return log_sum<0>({x[0], filled_like(x[0], 0)}); };
  auto tangent = [](const Terms& x, const Term& sum, const Terms& tangents) { return tangents[0] * share<0>(x[0], sum); };
  return {with_derivative({as_inexact_beside(term(b, args[0]), WeakKind::kInteger)}, {value, tangent}).id()};
}

}  // namespace

extern const OpDef kLogaddexp, kLogaddexp2, kSoftplus;

const OpDef kLogaddexp = composite_of({.name = "logaddexp",
                                       .doc = "log(exp(x) + exp(y)), without overflow.",
                                       .expand = expand_logaddexp<0>,
                                       .operands_min = 2,
                                       .operands_max = 2,
                                       .weakness = Weakness::kOfAll});
const OpDef kLogaddexp2 = composite_of({"logaddexp2", "log2(2^x + 2^y), without overflow.", expand_logaddexp<2>, 2, 2});
const OpDef kSoftplus = compiled_alone(composite_of(
    {.name = "softplus", .doc = "log(1 + exp(x)), without overflow.", .expand = expand_softplus, .weakness = Weakness::kOfAll}));

}  // namespace shardlab::ops
