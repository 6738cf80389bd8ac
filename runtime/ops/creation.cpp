// Ops that make arrays: arange, linspace, zeros, ones, full and their like, and eye.
#include "runtime/ops/creation.h"

#include <cmath>

#include "runtime/ops/compose.h"

namespace shardlab::ops {

extern const OpDef kLinspace;

namespace {

double real_number(std::string_view op, const Scalar& scalar) {
  if (const bool* v = std::get_if<bool>(&scalar.value)) return *v ? 1.0 : 0.0;
  if (const std::int64_t* v = std::get_if<std::int64_t>(&scalar.value)) return double(*v);
  if (const double* v = std::get_if<double>(&scalar.value)) return *v;
  throw_user_error("{}: got a complex number, wanted a real one", op);
}

const Scalar& scalar_arg(std::string_view op, const Arg& arg) {
  if (const Scalar* scalar = std::get_if<Scalar>(&arg)) return *scalar;
  throw_user_error("{}: got an array, wanted a number; sizes must be known when the program is built", op);
}

ValueId iota_of(GraphBuilder& b, DType dtype, std::int64_t size) {
  return b.emit1(kIota, {}, Attrs{{"dtype", dtype}, {"shape", Shape{size}}, {"dimension", std::int64_t(0)}});
}

// arange(stop), arange(start, stop), arange(start, stop, step): start + step * iota.
Values expand_arange(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Scalar> given;
  bool whole = true;
  for (const Arg& arg : args) {
    given.push_back(scalar_arg(op.name, arg));
    whole &= given.back().is_integer();
  }
  DType dtype = dtype_or(b, attrs, whole ? WeakKind::kInteger : WeakKind::kReal);
  Scalar start = given.size() > 1 ? given[0] : Scalar{std::int64_t(0)};
  Scalar stop = given.size() > 1 ? given[1] : given[0];
  Scalar step = given.size() > 2 ? given[2] : Scalar{std::int64_t(1)};
  double first = real_number(op.name, start), last = real_number(op.name, stop), by = real_number(op.name, step);
  double count = std::ceil((last - first) / by);
  if (by == 0 || !std::isfinite(count))
    throw_user_error("{}: start {}, stop {} and step {} give no finite number of elements; use a step other than 0", op.name, first, last,
                     by);
  if (count > double(kElementsMax)) throw_user_error("{}: {} elements are asked for, at most {} are made", op.name, count, kElementsMax);
  DType made = dtype == DType::kBool ? DType::kInt32 : dtype;
  ValueId values = iota_of(b, made, std::max<std::int64_t>(0, std::int64_t(count)));
  if (by != 1) values = b.emit1(kMul, {values, filled(b, b.type(values), step)});
  if (first != 0) values = b.emit1(kAdd, {values, filled(b, b.type(values), start)});
  return {converted(b, values, dtype)};
}

// The same between arrays, along a new axis; the last part is stop itself, joined to the others. As JAX lowers it.
Values linspace_of_arrays(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Args ends = args.first(2);
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : inexact(promoted_dtype(b, ends));
  DType computed = inexact(promote(promoted_dtype(b, ends), is_inexact(dtype) ? dtype : promoted_dtype(b, ends), b.config().enable_x64));
  std::int64_t count = static_integer(op, args, 2, attrs, "num", 50);
  if (count < 0) throw_user_error("linspace: Number of samples, {}, must be non-negative", count);
  bool endpoint = attrs.flag("endpoint", true);
  std::int64_t steps = endpoint ? count - 1 : count;
  Values both = broadcast_together(b, op.name, ends, computed);
  Term start(b, both[0]), stop(b, both[1]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), start.rank() + 1);
  Shape whole = start.shape(), along(std::size_t(start.rank() + 1), 1);
  whole.insert(whole.begin() + axis, count);
  check_shape(op.name, whole);
  std::optional<Term> result;
  if (steps > 0) {
    along[std::size_t(axis)] = steps;
    Term t = reshaped(numbers(b, computed, steps), along) / double(steps);
    result = expanded(start, axis) * (1.0 - t) + expanded(stop, axis) * t;
    if (endpoint) result = joined({*result, expanded(stop, axis)}, axis);
  } else {
    result = broadcast(expanded(start, axis), whole);
  }
  if (!is_inexact(dtype)) result = call("floor", *result);
  return {converted(*result, dtype).id()};
}

// linspace(start, stop, num = 50): start + iota * (stop - start) / (num - 1), the last element exactly stop.
Values expand_linspace(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (std::holds_alternative<ValueId>(args[0]) || std::holds_alternative<ValueId>(args[1])) return linspace_of_arrays(b, op, args, attrs);
  double first = real_number(op.name, scalar_arg(op.name, args[0])), last = real_number(op.name, scalar_arg(op.name, args[1]));
  std::int64_t count = attrs.integer("num", args.size() > 2 ? std::int64_t(real_number(op.name, scalar_arg(op.name, args[2]))) : 50);
  bool endpoint = attrs.flag("endpoint", true);
  if (count < 0) throw_user_error("linspace: Number of samples, {}, must be non-negative", count);
  DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  check_shape(op.name, {count});
  std::int64_t steps = endpoint ? count - 1 : count;
  // Narrow and whole dtypes are computed in float32 and rounded at the end.
  ValueId index = iota_of(b, is_half(dtype) ? DType::kFloat32 : inexact(dtype), count);
  if (steps <= 0) return {converted(b, filled(b, b.type(index), first), dtype)};
  // start * (1 - t) + stop * t, as jnp.linspace.
  ValueId t = binary(b, kDiv, index, double(steps));
  ValueId rest = b.emit1(kSub, {filled(b, b.type(t), 1.0), t});
  ValueId values = b.emit1(kAdd, {binary(b, kMul, rest, first), binary(b, kMul, t, last)});
  if (endpoint) {
    ValueId is_last = binary(b, kEqual, index, double(count - 1));
    values = b.emit1(kSelect, {is_last, filled(b, b.type(values), last), values});
  }
  return {converted(b, values, dtype)};
}

// base ** linspace(start, stop, num).
Values expand_logspace(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : inexact(promoted_dtype(b, args.first(2)));
  Attrs own{{"dtype", inexact(dtype)}};
  for (std::string_view name : {"num", "endpoint"})
    if (const AttrValue* value = attrs.find(name)) own.set(name, *value);
  ValueId exponents = kLinspace.expand(b, kLinspace, args, own).at(0);
  double base = attrs.has("base") ? attrs.number("base") : 10.0;
  return {converted(b, b.emit1(kPow, {filled(b, b.type(exponents), base), exponents}), dtype)};
}

Shape shape_attribute(const OpDef& op, const Attrs& attrs) {
  if (!attrs.has("shape")) throw_user_error("{}: attribute 'shape' is missing", op.name);
  Shape shape = integer_list_of(attrs, "shape");
  check_shape(op.name, shape);
  return shape;
}

template <int kValue>
Values expand_filled(GraphBuilder& b, const OpDef& op, Args, const Attrs& attrs) {
  DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  return {filled(b, {dtype, shape_attribute(op, attrs)}, double(kValue))};
}

template <int kValue>
Values expand_filled_like(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  TensorType type{attrs.has("dtype") ? attrs.dtype("dtype") : dtype_of_arg(b, args[0]),
                  attrs.has("shape") ? shape_attribute(op, attrs) : shape_of_arg(b, args[0])};
  return {filled(b, type, double(kValue))};
}

// The value to fill with: the operand at `index`, or the attribute "fill_value".
Arg fill_value(GraphBuilder& b, const OpDef& op, Args args, std::size_t index, const Attrs& attrs) {
  if (args.size() > index) return args[index];
  const AttrValue* value = attrs.find("fill_value");
  if (value != nullptr) {
    if (const std::int64_t* v = std::get_if<std::int64_t>(value)) return Scalar{*v};
    if (const double* v = std::get_if<double>(value)) return Scalar{*v};
    if (const bool* v = std::get_if<bool>(value)) return Scalar{*v};
    if (std::holds_alternative<std::shared_ptr<const Literal>>(*value)) return b.emit1(kConstant, {}, Attrs{{"value", *value}});
  }
  throw_user_error("{}: the value to fill with is missing; give it as an operand or as 'fill_value'", op.name);
}

Values expand_full(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Arg value = fill_value(b, op, args, 0, attrs);
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : dtype_of_arg(b, value);
  Shape shape = shape_attribute(op, attrs);
  check_broadcasts_to(op.name, shape_of_arg(b, value), shape);
  return {broadcast_to(b, value_of(b, value, dtype), shape)};
}

Values expand_full_like(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Arg value = fill_value(b, op, args, 1, attrs);
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : dtype_of_arg(b, args[0]);
  Shape shape = attrs.has("shape") ? shape_attribute(op, attrs) : shape_of_arg(b, args[0]);
  check_broadcasts_to(op.name, shape_of_arg(b, value), shape);
  return {broadcast_to(b, value_of(b, value, dtype), shape)};
}

// eye(n, m = n): rows equal columns.
Values expand_eye(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t rows = std::int64_t(real_number(op.name, scalar_arg(op.name, args[0])));
  std::int64_t columns = args.size() > 1 ? std::int64_t(real_number(op.name, scalar_arg(op.name, args[1]))) : attrs.integer("M", rows);
  Shape shape{rows, columns};
  check_shape(op.name, shape);
  auto index = [&](std::int64_t d) { return b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", shape}, {"dimension", d}}); };
  ValueId row = index(0);
  if (const std::int64_t k = std::clamp<std::int64_t>(attrs.integer("k", 0), -rows - 1, columns + 1); k != 0)
    row = b.emit1(kAdd, {row, filled(b, {DType::kInt32, shape}, double(k))});
  return {converted(b, b.emit1(kEqual, {row, index(1)}), dtype_or(b, attrs, WeakKind::kReal))};
}

constexpr AttrDef kDTypeAttr[] = {{"dtype", AttrDef::Kind::kDType, false, "int32 if all numbers are whole, else float32"}};
constexpr AttrDef kLinspaceAttrs[] = {
    {"num", AttrDef::Kind::kInteger, false, "how many elements; 50 by default"},
    {"endpoint", AttrDef::Kind::kFlag, false, "whether the last element is stop; true by default"},
    {"dtype", AttrDef::Kind::kDType, false, "float32 by default"},
    {"axis", AttrDef::Kind::kInteger, false, "of arrays: where in the result the new dimension is; 0 by default"}};
constexpr AttrDef kShapeAttrs[] = {{"shape", AttrDef::Kind::kScalarOrIntegers, true, "the shape of the result"},
                                   {"dtype", AttrDef::Kind::kDType, false, "float32 by default"}};
constexpr std::string_view kEmptyLikeAliases[] = {"empty_like"};  // as JAX makes it
constexpr AttrDef kLikeAttrs[] = {{"dtype", AttrDef::Kind::kDType, false, "the operand's by default"},
                                  {"shape", AttrDef::Kind::kScalarOrIntegers, false, "the operand's by default"}};
constexpr AttrDef kLogspaceAttrs[] = {{"num", AttrDef::Kind::kInteger, false, "how many elements; 50 by default"},
                                      {"endpoint", AttrDef::Kind::kFlag, false, "whether the last exponent is stop; true by default"},
                                      {"base", AttrDef::Kind::kNumber, false, "10 by default"},
                                      {"dtype", AttrDef::Kind::kDType, false, "float32 by default"}};
constexpr AttrDef kFullAttrs[] = {{"shape", AttrDef::Kind::kScalarOrIntegers, true, "the shape of the result"},
                                  {"fill_value", AttrDef::Kind::kLiteral, false, "the value, where it is not the operand"},
                                  {"dtype", AttrDef::Kind::kDType, false, "the value's by default"}};
constexpr AttrDef kFullLikeAttrs[] = {{"fill_value", AttrDef::Kind::kLiteral, false, "the value, where it is not the second operand"},
                                      {"dtype", AttrDef::Kind::kDType, false, "the operand's by default"},
                                      {"shape", AttrDef::Kind::kScalarOrIntegers, false, "the operand's by default"}};
constexpr AttrDef kEyeAttrs[] = {{"M", AttrDef::Kind::kInteger, false, "the number of columns, where it is no operand; n by default"},
                                 {"k", AttrDef::Kind::kInteger, false, "which diagonal: 0 the main one, above it positive"},
                                 {"dtype", AttrDef::Kind::kDType, false, "float32 by default"}};

}  // namespace

extern const OpDef kArange, kLinspace, kLogspace, kZeros, kOnes, kEmpty, kFull, kZerosLike, kOnesLike, kFullLike, kEye;

const OpDef kArange = {.name = "arange",
                       .doc = "Evenly spaced numbers: args [stop], [start, stop] or [start, stop, step]; stop is left out.",
                       .operands_min = 1,
                       .operands_max = 3,
                       .attrs = kDTypeAttr,
                       .weakness = Weakness::kNever,
                       .expand = expand_arange};
const OpDef kLinspace = {.name = "linspace",
                         .doc = "`num` evenly spaced numbers from start to stop: args [start, stop] or [start, stop, num].",
                         .operands_min = 2,
                         .operands_max = 3,
                         .attrs = kLinspaceAttrs,
                         .weakness = Weakness::kNever,
                         .expand = expand_linspace,
                         .compiled_alone = true};
const OpDef kLogspace = {.name = "logspace",
                         .doc = "A base to `num` evenly spaced powers from start to stop: args [start, stop] or [start, stop, num].",
                         .operands_min = 2,
                         .operands_max = 3,
                         .attrs = kLogspaceAttrs,
                         .weakness = Weakness::kNever,
                         .expand = expand_logspace,
                         .compiled_alone = true};
const OpDef kZeros = {.name = "zeros",
                      .doc = "An array of zeros.",
                      .operands_min = 0,
                      .operands_max = 0,
                      .attrs = kShapeAttrs,
                      .weakness = Weakness::kNever,
                      .expand = expand_filled<0>};
const OpDef kOnes = {.name = "ones",
                     .doc = "An array of ones.",
                     .operands_min = 0,
                     .operands_max = 0,
                     .attrs = kShapeAttrs,
                     .weakness = Weakness::kNever,
                     .expand = expand_filled<1>};
const OpDef kEmpty = {.name = "empty",
                      .doc = "An array of zeros, as in JAX.",
                      .operands_min = 0,
                      .operands_max = 0,
                      .attrs = kShapeAttrs,
                      .weakness = Weakness::kNever,
                      .expand = expand_filled<0>};
const OpDef kFull = {.name = "full",
                     .doc = "An array filled with one value: args [value].",
                     .operands_min = 0,
                     .operands_max = 1,
                     .attrs = kFullAttrs,
                     .expand = expand_full};
const OpDef kZerosLike = {.name = "zeros_like",
                          .doc = "Zeros of the operand's shape and dtype.",
                          .aliases = kEmptyLikeAliases,
                          .attrs = kLikeAttrs,
                          .weakness = Weakness::kOfFirst,
                          .expand = expand_filled_like<0>};
const OpDef kOnesLike = {.name = "ones_like",
                         .doc = "Ones of the operand's shape and dtype.",
                         .attrs = kLikeAttrs,
                         .weakness = Weakness::kOfFirst,
                         .expand = expand_filled_like<1>};
const OpDef kFullLike = {.name = "full_like",
                         .doc = "One value in the operand's shape and dtype: args [x, value].",
                         .operands_min = 1,
                         .operands_max = 2,
                         .attrs = kFullLikeAttrs,
                         .weakness = Weakness::kOfFirst,
                         .expand = expand_full_like};
const OpDef kEye = {.name = "eye",
                    .doc = "Ones on the diagonal, else zeros: args [n] or [n, m].",
                    .operands_min = 1,
                    .operands_max = 2,
                    .attrs = kEyeAttrs,
                    .weakness = Weakness::kNever,
                    .expand = expand_eye};

bool fills_like_operand(const OpDef& op) { return &op == &kZerosLike || &op == &kOnesLike || &op == &kFullLike; }

}  // namespace shardlab::ops
