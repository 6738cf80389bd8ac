// The activation functions of jax.nn, and one_hot, decomposed as JAX lowers them.
#include <array>
#include <cmath>

#include "runtime/ops/loops.h"
#include "runtime/ops/moves.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

using Expand = Values (*)(GraphBuilder&, const OpDef&, Args, const Attrs&);

ValueId inexact_value(GraphBuilder& b, const Arg& arg) {
  ValueId x = value_of(b, arg);
  return converted(b, x, inexact(b.type(x).dtype));
}
double number_or(const Attrs& attrs, std::string_view name, double otherwise) { return attrs.has(name) ? attrs.number(name) : otherwise; }
ValueId applied(GraphBuilder& b, std::string_view name, ValueId x) {
  const OpDef& op = *find_op(name);
  const std::array<Arg, 1> args = {x};
  return op.expand(b, op, args, {}).at(0);
}

// An operand beside real numbers, and beside whole ones.
ValueId real_value(GraphBuilder& b, const Arg& x) { return value_of(b, x, inexact_beside(b, dtype_of_arg(b, x), WeakKind::kReal)); }
ValueId number_value(GraphBuilder& b, const Arg& x) { return value_of(b, x, inexact_beside(b, dtype_of_arg(b, x), WeakKind::kInteger)); }

// The second operand, an array or a number, or the attribute.
Item parameter(Args args, const Attrs& attrs, std::string_view name, double otherwise) {
  Item item(number_or(attrs, name, otherwise));
  if (args.size() > 1) item.arg = args[1];
  return item;
}

// The exponential sees no large numbers, so that gradients stay finite.
Term elu(const Term& x, const Item& alpha) {
  const Term is_above = x > 0.0, below = call("expm1", where(is_above, 0.0, x));
  return where(is_above, x, call(x.builder(), "mul", {alpha, below}));
}
Values expand_elu(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  return {elu(Term(b, real_value(b, args[0])), parameter(args, attrs, "alpha", 1)).id()};
}
Values expand_celu(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  const Item alpha = parameter(args, attrs, "alpha", 1);
  const Term x(b, real_value(b, args[0])), above = call(b, "maximum", {x, 0.0});
  return {(above + call(b, "mul", {alpha, call("expm1", call(b, "minimum", {x, 0.0}) / alpha)})).id()};
}
// Source of the constants: Klambauer et al., "Self-normalizing neural networks".
Values expand_selu(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  const Term tail = elu(Term(b, real_value(b, args[0])), 1.6732632423543772848170429916717);
  return {(1.0507009873554804934193349852946 * tail).id()};
}
Values expand_leaky_relu(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  const Term x = term(b, args[0]), below = call(b, "mul", {parameter(args, attrs, "negative_slope", 0.01), x});
  return {where(x >= 0, x, below).id()};
}
// Of slope 0 at both ends, unlike the extrema that it is made of.
ValueId relu6(GraphBuilder& b, ValueId x) {
  auto value = [](const Terms& at) {
    GraphBuilder& body = at[0].builder();
    return Term(body, binary(body, kMinimum, binary(body, kMaximum, at[0].id(), 0.0), 6.0));
  };
  auto tangent = [](const Terms& at, const Term&, const Terms& tangents) {
    return selected((at[0] > 0.0) & (at[0] < 6.0), tangents[0], 0.0);
  };
  return with_derivative({Term(b, x)}, {value, tangent}).id();
}
Values expand_relu6(GraphBuilder& b, const OpDef&, Args args, const Attrs&) { return {relu6(b, real_value(b, args[0]))}; }
ValueId hard_sigmoid(GraphBuilder& b, ValueId x) { return binary(b, kDiv, relu6(b, binary(b, kAdd, x, 3.0)), 6.0); }
Values expand_hard_sigmoid(GraphBuilder& b, const OpDef&, Args args, const Attrs&) { return {hard_sigmoid(b, real_value(b, args[0]))}; }
Values expand_hard_silu(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = real_value(b, args[0]);
  return {b.emit1(kMul, {x, hard_sigmoid(b, x)})};
}
Values expand_hard_tanh(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).dtype == DType::kBool) x = as_default_integer(b, x);
  auto constant = [&](double value) { return filled(b, b.type(x), value); };
  ValueId low = where(b, binary(b, kLess, x, -1.0), constant(-1), x);
  return {where(b, binary(b, kGreater, x, 1.0), constant(1), low)};
}
Values expand_soft_sign(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = number_value(b, args[0]);
  return {b.emit1(kDiv, {x, binary(b, kAdd, unary(b, kAbs, x), 1.0)})};
}
Values expand_log_sigmoid(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  return {unary(b, kNeg, applied(b, "softplus", unary(b, kNeg, value_of(b, args[0]))))};
}
Values expand_mish(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = number_value(b, args[0]);
  return {b.emit1(kMul, {x, unary(b, kTanh, applied(b, "softplus", x))})};
}
Values expand_squareplus(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  const Term x(b, inexact_value(b, args[0]));
  return {((x + call("sqrt", call("square", x) + parameter(args, attrs, "b", 4))) / 2.0).id()};
}

// One half times the logistic function of the other.
Values expand_glu(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = inexact_value(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), b.type(x).rank());
  std::int64_t size = b.shape(x)[std::size_t(axis)];
  if (size % 2 != 0)
    throw_user_error("{}: axis size must be divisible by 2, got size {} of axis {} in {}", op.name, size, axis, b.type(x).text());
  ValueId first = slice_in_dim(b, x, axis, {0, size / 2}), second = slice_in_dim(b, x, axis, {size / 2, size});
  return {b.emit1(kMul, {first, unary(b, kLogistic, second)})};
}

// Rows of the identity: 1 where the new dimension's index is x, nothing for indices beyond it.
Values expand_one_hot(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!attrs.has("num_classes")) throw_user_error("{}: attribute 'num_classes' is missing", op.name);
  std::int64_t classes = attrs.integer("num_classes");
  int rank = b.type(x).rank() + 1, axis = normalized_axis(op.name, attrs.integer("axis", -1), rank);
  DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  Shape shape = b.shape(x), column = b.shape(x);
  shape.insert(shape.begin() + axis, classes);
  column.insert(column.begin() + axis, 1);
  check_shape(op.name, shape);
  ValueId spread = broadcast_to(b, reshaped(b, x, column), shape);
  DType own = b.type(x).dtype == DType::kBool ? DType::kInt32 : b.type(x).dtype;
  ValueId index = b.emit1(kIota, {}, Attrs{{"dtype", own}, {"shape", shape}, {"dimension", std::int64_t(axis)}});
  return {converted(b, b.emit1(kEqual, {converted(b, spread, own), index}), dtype)};
}

constexpr AttrDef kAlphaAttrs[] = {
    {"alpha", AttrDef::Kind::kNumber, false, "the limit far below 0, negated, where it is no argument; 1 by default"}};
constexpr AttrDef kSlopeAttrs[] = {
    {"negative_slope", AttrDef::Kind::kNumber, false, "the slope below 0, where it is no argument; 0.01 by default"}};
constexpr AttrDef kPlusAttrs[] = {{"b", AttrDef::Kind::kNumber, false, "how smooth it is, where it is no argument; 4 by default"}};
constexpr AttrDef kGluAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "which is halved; the last by default"}};
constexpr AttrDef kOneHotAttrs[] = {{"num_classes", AttrDef::Kind::kInteger, true, "the size of the new dimension"},
                                    {"axis", AttrDef::Kind::kInteger, false, "where in the result it is; the last by default"},
                                    {"dtype", AttrDef::Kind::kDType, false, "float32 by default"}};
constexpr std::string_view kHardSiluAliases[] = {"hard_swish"};
constexpr std::string_view kSoftSignAliases[] = {"softsign"};

constexpr OpDef activation(std::string_view name, std::string_view doc, Expand expand, std::span<const AttrDef> attrs = {},
                           std::span<const std::string_view> aliases = {}) {
  return {.name = name, .doc = doc, .aliases = aliases, .attrs = attrs, .expand = expand};
}
// With a parameter, which may be an array.
constexpr OpDef with_parameter(OpDef op) {
  op.operands_max = 2;
  return compiled_alone(op);
}

}  // namespace

extern const OpDef kElu, kCelu, kSelu, kLeakyRelu, kRelu6, kHardSigmoid, kHardSilu, kHardTanh, kSoftSign, kLogSigmoid, kMish, kSquareplus,
    kOneHot, kGlu;

const OpDef kElu = with_parameter(activation("elu", "x above 0, alpha (exp(x) - 1) below.", expand_elu, kAlphaAttrs));
const OpDef kCelu = with_parameter(activation("celu", "x above 0, alpha (exp(x / alpha) - 1) below.", expand_celu, kAlphaAttrs));
const OpDef kSelu = compiled_alone(activation("selu", "The self-normalising scaled elu.", expand_selu));
const OpDef kLeakyRelu = with_parameter(activation("leaky_relu", "x above 0, a small slope below.", expand_leaky_relu, kSlopeAttrs));
const OpDef kRelu6 = activation("relu6", "minimum(maximum(x, 0), 6).", expand_relu6);
const OpDef kHardSigmoid = compiled_alone(activation("hard_sigmoid", "relu6(x + 3) / 6.", expand_hard_sigmoid));
const OpDef kHardSilu = activation("hard_silu", "x * hard_sigmoid(x).", expand_hard_silu, {}, kHardSiluAliases);
const OpDef kHardTanh = compiled_alone(activation("hard_tanh", "x held between -1 and 1.", expand_hard_tanh));
const OpDef kSoftSign = compiled_alone(activation("soft_sign", "x / (|x| + 1).", expand_soft_sign, {}, kSoftSignAliases));
const OpDef kLogSigmoid = compiled_alone(activation("log_sigmoid", "log(logistic(x)).", expand_log_sigmoid));
const OpDef kMish = compiled_alone(activation("mish", "x * tanh(softplus(x)).", expand_mish));
const OpDef kSquareplus = with_parameter(activation("squareplus", "(x + sqrt(x^2 + b)) / 2.", expand_squareplus, kPlusAttrs));
const OpDef kGlu =
    compiled_alone(activation("glu", "The first half along an axis times the logistic function of the second.", expand_glu, kGluAttrs));
const OpDef kOneHot = compiled_alone(strong(activation("one_hot", "Indices as rows of 0 and a 1.", expand_one_hot, kOneHotAttrs)));

}  // namespace shardlab::ops
