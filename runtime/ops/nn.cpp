// square, relu, softmax and their like: jax.nn and jax.scipy.special, decomposed as they lower.
#include <cmath>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/reductions.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ValueId inexact_value(GraphBuilder& b, const Arg& arg) {
  ValueId x = value_of(b, arg);
  return converted(b, x, inexact(b.type(x).dtype));
}

std::vector<int> softmax_axes(const GraphBuilder& b, const OpDef& op, ValueId x, const Attrs& attrs) {
  if (attrs.has("axis")) return reduced_axes(b, op, x, attrs);
  return {normalized_axis(op.name, -1, b.type(x).rank())};
}

// The maximum, kept as dimensions of size 1; derivatives need not know of it, as it cancels. JAX starts it at -infinity once more.
ValueId kept_maximum(GraphBuilder& b, ValueId x, const std::vector<int>& axes) {
  Shape kept = kept_shape(b.shape(x), axes);
  return unary(b, kStopGradient, reshaped(b, binary(b, kMaximum, reduced(b, kReduceMax, x, axes, false), -kInfinity), kept));
}

// The operand that attribute "where" names; each use broadcasts it anew, as in JAX. UserError where it does not fit.
std::optional<ValueId> mask_of(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, const Shape& shape) {
  auto given = named_operand(op, args, attrs, "where");
  if (!given && args.size() > 1 && !attrs.has("b"))
    throw_user_error("{}: takes one operand; give which elements take part as 'where'", op.name);
  if (!given) return std::nullopt;
  ValueId mask = value_of(b, *given);
  if (b.type(mask).dtype != DType::kBool) throw_user_error("{}: where must have dtype bool, got {}", op.name, b.type(mask).text());
  check_broadcasts_to(op.name, b.shape(mask), shape);
  return mask;
}
ValueId masked(GraphBuilder& b, ValueId x, std::optional<ValueId> mask, double otherwise) {
  return mask ? where(b, broadcast_to(b, *mask, b.shape(x)), x, filled(b, b.type(x), otherwise)) : x;
}

Values expand_softmax(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = inexact_value(b, args[0]);
  std::vector<int> axes = softmax_axes(b, op, x, attrs);
  std::optional<ValueId> mask = mask_of(b, op, args, attrs, b.shape(x));
  x = masked(b, x, mask, -kInfinity);
  ValueId unnormalized = unary(b, kExp, binary(b, kSub, x, kept_maximum(b, x, axes)));
  ValueId total = reduced(b, kReduceSum, masked(b, unnormalized, mask, 0), axes, true);
  return {masked(b, binary(b, kDiv, unnormalized, total), mask, 0)};
}

Values expand_log_softmax(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = inexact_value(b, args[0]);
  std::vector<int> axes = softmax_axes(b, op, x, attrs);
  std::optional<ValueId> mask = mask_of(b, op, args, attrs, b.shape(x));
  x = masked(b, x, mask, -kInfinity);
  ValueId shifted = binary(b, kSub, x, kept_maximum(b, x, axes));
  ValueId total = reduced(b, kReduceSum, masked(b, unary(b, kExp, shifted), mask, 0), axes, true);
  return {masked(b, binary(b, kSub, shifted, unary(b, kLog, total)), mask, -kInfinity)};
}

// log(|sum(exp(x - m))|) + m with m the maximum, or 0 where that is not finite.
Values expand_logsumexp(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = inexact_value(b, args[0]);
  std::optional<ValueId> mask = mask_of(b, op, args, attrs, b.shape(x)), weights;
  x = masked(b, x, mask, 0);
  const bool has_parts = is_complex(b.type(x).dtype);  // the largest real part is taken away, and the sum's sign stays
  std::vector<int> axes = reduced_axes(b, op, x, attrs);
  bool keepdims = attrs.flag("keepdims");
  Shape kept = kept_shape(b.shape(x), axes);
  if (auto given = named_operand(op, args, attrs, "b")) {
    ValueId factors = value_of(b, *given, b.type(x).dtype);
    check_broadcasts_to(op.name, b.shape(factors), b.shape(x));
    weights = broadcast_to(b, factors, b.shape(x));
    x = where(b, binary(b, kNotEqual, *weights, 0.0), x, filled(b, b.type(x), -kInfinity));
  }
  ValueId size = has_parts ? b.emit1(kReal, {x}) : x;
  ValueId maximum = binary(b, kMaximum, reduced(b, kReduceMax, masked(b, size, mask, -kInfinity), axes, false), -kInfinity);
  if (keepdims) maximum = reshaped(b, maximum, kept);
  ValueId finite = b.emit1(kSelect, {unary(b, kIsFinite, maximum), maximum, filled(b, b.type(maximum), 0.0)});
  finite = converted(b, unary(b, kStopGradient, finite), b.type(x).dtype);
  ValueId exponentials = unary(b, kExp, binary(b, kSub, x, reshaped(b, finite, kept)));
  if (weights) exponentials = b.emit1(kMul, {exponentials, *weights});
  ValueId total = reduced(b, kReduceSum, masked(b, exponentials, mask, 0), axes, keepdims);
  if (has_parts) return {b.emit1(kAdd, {unary(b, kLog, total), finite})};
  if (weights)
    return {where(b, binary(b, kLess, total, 0.0), filled(b, b.type(total), std::numeric_limits<double>::quiet_NaN()),
                  b.emit1(kAdd, {unary(b, kLog, unary(b, kAbs, total)), finite}))};
  return {b.emit1(kAdd, {unary(b, kLog, unary(b, kAbs, total)), finite})};
}

// x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, or with `approximate` false x * erfc(-x / sqrt(2)) / 2.
Values expand_gelu(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  ValueId x = inexact_value(b, args[0]);
  auto times = [&](ValueId value, double factor) { return binary(b, kMul, value, factor); };
  if (!attrs.flag("approximate", true)) {
    ValueId half = times(x, 0.5), turned = unary(b, kNeg, x);
    return {b.emit1(kMul, {half, unary(b, kErfc, times(turned, std::sqrt(0.5)))})};
  }
  ValueId cube = call(b, "power", {Term(b, x), 3}).id();
  ValueId inner = times(b.emit1(kAdd, {x, times(cube, 0.044715)}), std::sqrt(2.0 / M_PI));
  ValueId cdf = times(binary(b, kAdd, unary(b, kTanh, inner), 1.0), 0.5);
  return {b.emit1(kMul, {x, cdf})};
}

Values expand_silu(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = inexact_value(b, args[0]);
  return {b.emit1(kMul, {x, unary(b, kLogistic, x)})};
}

constexpr AttrDef kWhere = {"where", kNamedOperand, false, "which elements take part: bools that broadcast to x"};
constexpr AttrDef kSoftmaxAttrs[] = {{"axis", AttrDef::Kind::kScalarOrIntegers, false, "the axis or axes; the last by default"}, kWhere};
constexpr AttrDef kLogsumexpAttrs[] = {{"axis", AttrDef::Kind::kScalarOrIntegers, false, "the axis or axes; all by default"},
                                       {"keepdims", AttrDef::Kind::kFlag, false, "whether reduced axes stay, with size 1"},
                                       {"b", kNamedOperand, false, "what each exponential is multiplied by"},
                                       kWhere};
constexpr AttrDef kGeluAttrs[] = {{"approximate", AttrDef::Kind::kFlag, false, "by tanh (the default), or exactly by erf"}};
constexpr std::string_view kSiluAliases[] = {"swish"};

}  // namespace

extern const OpDef kSoftmax, kLogSoftmax, kLogsumexp, kGelu, kSilu;

const OpDef kSoftmax = {.name = "softmax",
                        .doc = "exp(x) / sum(exp(x)) along an axis, without overflow.",
                        .operands_max = 2,
                        .attrs = kSoftmaxAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_softmax};
const OpDef kLogSoftmax = {.name = "log_softmax",
                           .doc = "log(softmax(x)) along an axis.",
                           .operands_max = 2,
                           .attrs = kSoftmaxAttrs,
                           .weakness = Weakness::kNever,
                           .expand = expand_log_softmax,
                           .compiled_alone = true};
const OpDef kLogsumexp = {.name = "logsumexp",
                          .doc = "log(sum(exp(x))) over axes, without overflow.",
                          .operands_max = 3,
                          .attrs = kLogsumexpAttrs,
                          .weakness = Weakness::kNever,
                          .expand = expand_logsumexp};
const OpDef kGelu = {.name = "gelu",
                     .doc = "x times the normal distribution function of x.",
                     .attrs = kGeluAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand_gelu};
const OpDef kSilu = {.name = "silu", .doc = "x * logistic(x).", .aliases = kSiluAliases, .expand = expand_silu, .compiled_alone = true};

}  // namespace shardlab::ops
