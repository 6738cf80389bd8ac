// Composites of reshape and broadcast_in_dim, and of the bitwise ops on truth values.
#include <algorithm>

#include "runtime/ops/lower.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

Values expand_broadcast_to(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (!attrs.has("shape")) throw_user_error("{}: attribute 'shape' is missing", op.name);
  ValueId x = value_of(b, args[0]);
  Shape shape = integer_list_of(attrs, "shape");
  check_shape(op.name, shape);
  check_broadcasts_to(op.name, b.shape(x), shape);
  return {broadcast_to(b, x, shape)};
}

Values expand_expand_dims(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!attrs.has("axis")) throw_user_error("{}: attribute 'axis' is missing", op.name);
  int rank = b.type(x).rank() + int(integer_list_of(attrs, "axis").size());
  std::vector<int> added = *axes_of(op.name, attrs, "axis", rank);
  Shape shape;
  std::size_t next = 0;
  for (int d = 0; d < rank; ++d) shape.push_back(std::find(added.begin(), added.end(), d) != added.end() ? 1 : b.shape(x)[next++]);
  return {reshaped(b, x, shape)};
}

Values expand_squeeze(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  const Shape& from = b.shape(x);
  std::vector<int> dropped;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] == 1) dropped.push_back(int(d));
  if (auto given = axes_of(op.name, attrs, "axis", b.type(x).rank())) dropped = *given;
  Shape shape;
  for (std::size_t d = 0; d < from.size(); ++d) {
    bool drops = std::find(dropped.begin(), dropped.end(), int(d)) != dropped.end();
    if (drops && from[d] != 1)
      throw_user_error("{}: cannot select an axis to squeeze out which has size not equal to one, got shape={} and dimensions=({},)",
                       op.name, text_of(from), d);
    if (!drops) shape.push_back(from[d]);
  }
  return {reshaped(b, x, shape)};
}

Values expand_ravel(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  return {reshaped(b, x, {b.type(x).elements()})};
}

Arg truth(GraphBuilder& b, const Arg& arg) {
  ValueId x = value_of(b, arg);
  return b.type(x).dtype == DType::kBool ? x : binary(b, kNotEqual, x, 0.0);
}

template <const OpDef* kOp>
Values expand_logical(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Arg> truths;
  for (const Arg& arg : args) truths.push_back(truth(b, arg));
  return b.emit(*kOp, broadcast_together(b, op.name, truths, DType::kBool));
}

Values expand_isnan(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  return {b.emit1(kNotEqual, {x, x})};
}

// Of floats divmod's; of integers the quotient is corrected where the signs differ and a remainder is left.
Values expand_floor_divide(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const DType dtype = numeric(promoted_dtype(b, args));
  if (is_complex(dtype)) throw_user_error("{} does not accept dtype {}; divide the parts", op.name, name_of(dtype));
  if (is_floating(dtype)) {
    const OpDef& both = *find_op("divmod");
    return {both.expand(b, both, args, {}).at(0)};
  }
  const Values xy = ranked_together(b, op.name, args, dtype);
  const ValueId quotient = binary(b, kDiv, xy[0], xy[1]);
  if (is_unsigned_integer(dtype)) return {quotient};
  const ValueId sign = unary(b, kSign, xy[0]), signs_differ = binary(b, kNotEqual, sign, unary(b, kSign, xy[1]));
  const ValueId has_rest = binary(b, kNotEqual, binary(b, kRem, xy[0], xy[1]), 0.0);
  ValueId corrected = binary(b, kSub, quotient, 1.0);
  return {b.emit1(kSelect, {b.emit1(kAnd, {signs_differ, has_rest}), corrected, quotient})};
}

constexpr AttrDef kShapeAttrs[] = {{"shape", AttrDef::Kind::kScalarOrIntegers, true, "the shape of the result"}};
constexpr AttrDef kExpandAttrs[] = {{"axis", AttrDef::Kind::kScalarOrIntegers, true, "where in the result the new dimensions are"}};
constexpr AttrDef kSqueezeAttrs[] = {{"axis", AttrDef::Kind::kScalarOrIntegers, false, "which to drop; all of size 1 by default"}};

}  // namespace

extern const OpDef kBroadcastTo, kExpandDims, kSqueeze, kRavel, kLogicalAnd, kLogicalOr, kLogicalXor, kLogicalNot, kIsNan, kFloorDivide;

const OpDef kBroadcastTo = {.name = "broadcast_to",
                            .doc = "The operand repeated to a shape, by NumPy's rules.",
                            .attrs = kShapeAttrs,
                            .expand = expand_broadcast_to};
const OpDef kExpandDims = {
    .name = "expand_dims", .doc = "The operand with new dimensions of size 1.", .attrs = kExpandAttrs, .expand = expand_expand_dims};
const OpDef kSqueeze = {
    .name = "squeeze", .doc = "The operand without dimensions of size 1.", .attrs = kSqueezeAttrs, .expand = expand_squeeze};
const OpDef kRavel = {.name = "ravel", .doc = "The elements in row-major order as one dimension.", .expand = expand_ravel};
const OpDef kLogicalAnd = {
    .name = "logical_and", .doc = "Whether both are not 0.", .operands_min = 2, .operands_max = 2, .expand = expand_logical<&kAnd>};
const OpDef kLogicalOr = {
    .name = "logical_or", .doc = "Whether one of them is not 0.", .operands_min = 2, .operands_max = 2, .expand = expand_logical<&kOr>};
const OpDef kLogicalXor = {.name = "logical_xor",
                           .doc = "Whether exactly one of them is not 0.",
                           .operands_min = 2,
                           .operands_max = 2,
                           .expand = expand_logical<&kXor>};
const OpDef kLogicalNot = {.name = "logical_not", .doc = "Whether it is 0.", .expand = expand_logical<&kNot>};
const OpDef kIsNan = {.name = "isnan", .doc = "Whether it is NaN.", .expand = expand_isnan};
const OpDef kFloorDivide = {.name = "floor_divide",
                            .doc = "The largest whole number not above x / y.",
                            .operands_min = 2,
                            .operands_max = 2,
                            .expand = expand_floor_divide,
                            .compiled_alone = true};

}  // namespace shardlab::ops
