// Whether whole arrays are equal or close: allclose, array_equal.
#include "runtime/ops/reductions.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {

extern const OpDef kIsClose;

namespace {

ValueId all_of(GraphBuilder& b, ValueId x) {
  std::vector<int> axes;
  for (int d = 0; d < b.type(x).rank(); ++d) axes.push_back(d);
  return reduced(b, kReduceAnd, x, axes, false);
}

Values expand_allclose(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  return {all_of(b, kIsClose.expand(b, kIsClose, args, attrs).at(0))};
}

Values expand_array_equal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (shape_of_arg(b, args[0]) != shape_of_arg(b, args[1])) return {scalar_constant(b, DType::kBool, Scalar{false})};
  Values xy = broadcast_together(b, op.name, args, promoted_dtype(b, args));
  ValueId same = b.emit1(kEqual, xy);
  if (attrs.flag("equal_nan")) {
    ValueId x_is_nan = b.emit1(kNotEqual, {xy[0], xy[0]}), y_is_nan = b.emit1(kNotEqual, {xy[1], xy[1]});
    same = b.emit1(kOr, {same, b.emit1(kAnd, {x_is_nan, y_is_nan})});
  }
  return {all_of(b, same)};
}

constexpr AttrDef kEqualNan = {"equal_nan", AttrDef::Kind::kFlag, false, "whether NaN is equal to NaN"};
constexpr AttrDef kCloseAttrs[] = {{"rtol", AttrDef::Kind::kNumber, false, "relative to y; 1e-5 by default"},
                                   {"atol", AttrDef::Kind::kNumber, false, "absolute; 1e-8 by default"},
                                   kEqualNan};
constexpr AttrDef kEqualAttrs[] = {kEqualNan};

}  // namespace

extern const OpDef kAllclose, kArrayEqual;

const OpDef kAllclose = {.name = "allclose",
                         .doc = "Whether |x - y| <= atol + rtol |y| everywhere.",
                         .operands_min = 2,
                         .operands_max = 2,
                         .attrs = kCloseAttrs,
                         .expand = expand_allclose,
                         .compiled_alone = true};
const OpDef kArrayEqual = {.name = "array_equal",
                           .doc = "Whether shapes and all elements are equal.",
                           .operands_min = 2,
                           .operands_max = 2,
                           .attrs = kEqualAttrs,
                           .expand = expand_array_equal};

}  // namespace shardlab::ops
