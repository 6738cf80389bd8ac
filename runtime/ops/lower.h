// How user calls become primitives: promotion, weak scalars and broadcasting, as jax.numpy lowers them.
#pragma once

#include "runtime/graph/builder.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {

using Args = std::span<const Arg>;
using Values = std::vector<ValueId>;

// The dtype an operand has by itself: int32, float32, … for a scalar.
DType dtype_of_arg(const GraphBuilder& b, const Arg& arg);
Shape shape_of_arg(const GraphBuilder& b, const Arg& arg);
// What operands promote to together; scalars are weak.
DType promoted_dtype(const GraphBuilder& b, Args args);
// float32 in place of bool and integers, float64 in place of those of 64 bits (JAX's to_inexact_dtype).
DType inexact(DType dtype);
// int32 in place of bool, also with x64 (JAX's to_numeric_dtype).
inline DType numeric(DType dtype) { return dtype == DType::kBool ? DType::kInt32 : dtype; }
// inexact() of what a dtype becomes beside a number of this kind: integers are the default float beside a real one.
DType inexact_beside(const GraphBuilder& b, DType dtype, WeakKind kind);
// Places and counts, which are computed in int32 and which JAX gives in its default type: as int64 where x64 is on.
ValueId as_default_integer(GraphBuilder& b, ValueId value);
// The dtype asked for by the attribute "dtype", else the default of a kind: int32, float32, complex64; with x64 the wide ones.
DType dtype_or(const GraphBuilder& b, const Attrs& attrs, WeakKind kind);

// A rank-0 constant. `value` is converted as JAX does (fractions are cut for integers).
ValueId scalar_constant(GraphBuilder& b, DType dtype, const Scalar& value);
ValueId scalar_constant(GraphBuilder& b, DType dtype, double value);
// A constant of any shape filled with one value: a scalar constant, broadcast.
ValueId filled(GraphBuilder& b, const TensorType& type, const Scalar& value);
ValueId filled(GraphBuilder& b, const TensorType& type, double value);

// An operand as a value of `dtype`, and broadcast to `shape`. Nothing is emitted where nothing changes.
ValueId value_of(GraphBuilder& b, const Arg& arg, DType dtype);
ValueId value_of(GraphBuilder& b, const Arg& arg);  // scalars with their own dtype
ValueId converted(GraphBuilder& b, ValueId value, DType dtype);
// NumPy broadcasting of one value to a shape it fits: reshape without its size-1 dimensions that grow, then broadcast_in_dim.
ValueId broadcast_to(GraphBuilder& b, ValueId value, const Shape& shape);
ValueId reshaped(GraphBuilder& b, ValueId value, const Shape& shape);
ValueId transposed(GraphBuilder& b, ValueId value, const std::vector<int>& axes);

// All operands with one dtype and one shape.
Values broadcast_together(GraphBuilder& b, std::string_view op, Args args, DType dtype);
// With one dtype and, but for scalars, one rank: steps on one of them come before it is repeated, as in JAX.
Values ranked_together(GraphBuilder& b, std::string_view op, Args args, DType dtype);

// The usual expansions of primitives: promote, broadcast, emit the op itself with the attributes given.
Values expand_promoted(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs);
Values expand_inexact(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs);
// One operand (or more) as it is.
Values expand_plain(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs);

// Shorthands for decompositions: operands of one type each, scalars broadcast to the other's shape.
ValueId binary(GraphBuilder& b, const OpDef& op, ValueId x, ValueId y);
ValueId binary(GraphBuilder& b, const OpDef& op, ValueId x, double y);
ValueId unary(GraphBuilder& b, const OpDef& op, ValueId x);

// A definition that a family's helper made, with other weakness than the family's; strong: its results are never weak.
constexpr OpDef with_weakness(Weakness weakness, OpDef op) {
  op.weakness = weakness;
  return op;
}
constexpr OpDef strong(OpDef op) { return with_weakness(Weakness::kNever, op); }

// A function that JAX jits. Source: the jaxprs of JAX 0.10, where it is a call.
constexpr OpDef compiled_alone(OpDef op) {
  op.compiled_alone = true;
  return op;
}

}  // namespace shardlab::ops
