// Reductions of jax.numpy that leave NaN out, and others made of several: nansum …, ptp, count_nonzero.
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/named_operands.h"
#include "runtime/ops/reductions.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A reduction by its user's name, with this call's attributes and, after x, its other operands.
ValueId applied(GraphBuilder& b, std::string_view name, ValueId x, Args given, const Attrs& attrs) {
  const OpDef& op = *find_op(name);
  std::vector<Arg> args(given.begin(), given.end());
  args.at(0) = x;
  return op.expand(b, op, args, attrs).at(0);
}
Attrs without_dtype(const Attrs& attrs) {
  Attrs result;
  for (const auto& [name, value] : attrs.entries())
    if (name != "dtype" && name != "ddof") result.set(name, value);
  return result;
}
ValueId is_nan(GraphBuilder& b, ValueId x) { return b.emit1(kNotEqual, {x, x}); }
ValueId replaced(GraphBuilder& b, ValueId x, double value) {
  if (!is_inexact(b.type(x).dtype)) return x;
  return where(b, is_nan(b, x), filled(b, b.type(x), value), x);
}
// How many elements are numbers, in the float type of x.
ValueId count_of_numbers(GraphBuilder& b, ValueId x, Args args, const Attrs& attrs) {
  ValueId is_number = b.emit1(kEqual, {x, x});
  return applied(b, "sum", converted(b, is_number, real_dtype(b.type(x).dtype)), args, without_dtype(attrs));
}

Values expand_nansum(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  return {applied(b, "sum", replaced(b, value_of(b, args[0]), 0), args, attrs)};
}
Values expand_nanprod(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  return {applied(b, "prod", replaced(b, value_of(b, args[0]), 1), args, attrs)};
}

template <bool kMaximum>
Values expand_nan_extremum(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  const char* name = kMaximum ? "max" : "min";
  if (!is_inexact(b.type(x).dtype)) return {applied(b, name, x, args, attrs)};
  ValueId result = applied(b, name, replaced(b, x, kMaximum ? -kInfinity : kInfinity), args, attrs);
  if (attrs.has("initial")) return {result};
  ValueId nothing = applied(b, "all", is_nan(b, x), args, attrs);
  return {where(b, nothing, filled(b, b.type(result), kNan), result)};
}

ValueId inexact_value(GraphBuilder& b, const Arg& arg) {
  ValueId x = value_of(b, arg);
  return converted(b, x, inexact(b.type(x).dtype));
}
ValueId nanmean(GraphBuilder& b, ValueId x, Args args, const Attrs& attrs) {
  ValueId total = applied(b, "sum", replaced(b, x, 0), args, attrs);
  return b.emit1(kDiv, {total, converted(b, count_of_numbers(b, x, args, attrs), b.type(total).dtype)});
}
Values expand_nanmean(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  if (ValueId given = value_of(b, args[0]); !is_inexact(b.type(given).dtype)) return {applied(b, "mean", given, args, attrs)};
  ValueId x = inexact_value(b, args[0]);
  if (attrs.has("dtype")) x = converted(b, x, attrs.dtype("dtype"));
  return {nanmean(b, x, args, without_dtype(attrs))};
}

// The mean squared distance from nanmean over the numbers; NaN where no more than ddof are left.
ValueId nanvar(GraphBuilder& b, Args args, const Attrs& attrs) {
  ValueId x = inexact_value(b, args[0]);
  const DType result = real_dtype(b.type(x).dtype);
  if (is_half(result)) x = converted(b, x, DType::kFloat32);
  Attrs own = without_dtype(attrs), kept = own;
  kept.set("keepdims", true);
  Shape shape = b.shape(x);
  ValueId mean = broadcast_to(b, nanmean(b, x, args, kept), shape);
  ValueId centered = where(b, is_nan(b, x), filled(b, b.type(x), 0.0), b.emit1(kSub, {x, mean}));
  const bool has_parts = is_complex(b.type(x).dtype);
  ValueId square = b.emit1(kMul, {centered, has_parts ? b.emit1(kConj, {centered}) : centered});
  ValueId total = applied(b, "sum", has_parts ? b.emit1(kReal, {square}) : square, args, own);
  ValueId divisor = binary(b, kSub, count_of_numbers(b, x, args, own), double(attrs.integer("ddof", 0)));
  ValueId is_empty = binary(b, kLessEqual, divisor, 0.0);
  return converted(b, where(b, is_empty, filled(b, b.type(total), kNan), b.emit1(kDiv, {total, divisor})), result);
}
Values expand_nanvar(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) { return {nanvar(b, args, attrs)}; }
Values expand_nanstd(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) { return {unary(b, kSqrt, nanvar(b, args, attrs))}; }

Values expand_ptp(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  ValueId highest = applied(b, "max", x, args, attrs);
  return {b.emit1(kSub, {highest, applied(b, "min", x, args, attrs)})};
}

Values expand_count_nonzero(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).dtype != DType::kBool) x = binary(b, kNotEqual, x, 0.0);
  return {applied(b, "sum", x, args, attrs)};
}

constexpr AttrDef kAxis = {"axis", AttrDef::Kind::kScalarOrIntegers, false, "the axis or axes to reduce; all by default"};
constexpr AttrDef kKeepdims = {"keepdims", AttrDef::Kind::kFlag, false, "whether reduced axes stay, with size 1"};
constexpr AttrDef kPlainAttrs[] = {kAxis, kKeepdims};
constexpr AttrDef kInitial = {"initial", AttrDef::Kind::kNumber, false, "a number that takes part, too"};
constexpr AttrDef kWhere = {"where", kNamedOperand, false, "which elements take part: bools that broadcast to x"};
constexpr AttrDef kExtremumAttrs[] = {kAxis, kKeepdims, kInitial, kWhere};
constexpr AttrDef kDType = {"dtype", AttrDef::Kind::kDType, false, "the dtype to compute in"};
constexpr AttrDef kSumAttrs[] = {kAxis, kKeepdims, kDType, kInitial, kWhere};
constexpr AttrDef kMeanAttrs[] = {kAxis, kKeepdims, kDType, kWhere};
constexpr AttrDef kVarAttrs[] = {kAxis, kKeepdims, {"ddof", AttrDef::Kind::kInteger, false, "taken from the count; 0 by default"}, kWhere};

}  // namespace

extern const OpDef kNansum, kNanprod, kNanmax, kNanmin, kNanmean, kNanvar, kNanstd, kPtp, kCountNonzero;

const OpDef kNansum = {.name = "nansum",
                       .doc = "The sum over axes, NaN left out.",
                       .operands_max = 2,
                       .attrs = kSumAttrs,
                       .weakness = Weakness::kNever,
                       .expand = expand_nansum,
                       .compiled_alone = true};
const OpDef kNanprod = {.name = "nanprod",
                        .doc = "The product over axes, NaN left out.",
                        .operands_max = 2,
                        .attrs = kSumAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_nanprod,
                        .compiled_alone = true};
const OpDef kNanmax = {.name = "nanmax",
                       .doc = "The largest element over axes, NaN left out.",
                       .operands_max = 2,
                       .attrs = kExtremumAttrs,
                       .weakness = Weakness::kNever,
                       .expand = expand_nan_extremum<true>,
                       .compiled_alone = true};
const OpDef kNanmin = {.name = "nanmin",
                       .doc = "The smallest element over axes, NaN left out.",
                       .operands_max = 2,
                       .attrs = kExtremumAttrs,
                       .weakness = Weakness::kNever,
                       .expand = expand_nan_extremum<false>,
                       .compiled_alone = true};
const OpDef kNanmean = {.name = "nanmean",
                        .doc = "The mean over axes, NaN left out.",
                        .operands_max = 2,
                        .attrs = kMeanAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_nanmean,
                        .compiled_alone = true};
const OpDef kNanvar = {.name = "nanvar",
                       .doc = "The variance over axes, NaN left out.",
                       .operands_max = 2,
                       .attrs = kVarAttrs,
                       .weakness = Weakness::kNever,
                       .expand = expand_nanvar,
                       .compiled_alone = true};
const OpDef kNanstd = {.name = "nanstd",
                       .doc = "The standard deviation over axes, NaN left out.",
                       .operands_max = 2,
                       .attrs = kVarAttrs,
                       .weakness = Weakness::kNever,
                       .expand = expand_nanstd,
                       .compiled_alone = true};
const OpDef kPtp = {.name = "ptp",
                    .doc = "The largest less the smallest element over axes.",
                    .attrs = kPlainAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_ptp,
                    .compiled_alone = true};
const OpDef kCountNonzero = {.name = "count_nonzero",
                             .doc = "How many elements over axes are not 0.",
                             .attrs = kPlainAttrs,
                             .weakness = Weakness::kNever,
                             .expand = expand_count_nonzero,
                             .compiled_alone = true};

}  // namespace shardlab::ops
