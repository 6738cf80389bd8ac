// What derivative, transpose and batch rules share. The contract of the rules is in runtime/graph/op_def.h.
#pragma once

#include "runtime/ops/lower.h"

namespace shardlab::ops {

// --- Tangents and cotangents.

// x + y where kZero is neutral.
ValueId add_tangents(GraphBuilder& b, ValueId x, ValueId y);
// The tangent itself; for kZero zeros of `type`.
ValueId instantiated(GraphBuilder& b, ValueId tangent, const TensorType& type);
bool has_tangent(DType dtype);  // floating and complex
// The node that gives a value; nothing of a parameter. Good until the next one is emitted.
const Node* producer_of(const GraphBuilder& b, ValueId value);

// The derivative is zero wherever it exists (floor, sign, round).
Values zero_jvp(GraphBuilder& b, const JvpArgs& args);
// For ops that are linear in all operands together (neg, reshape, concatenate): the op itself on the tangents.
Values linear_jvp(GraphBuilder& b, const JvpArgs& args);
// For ops that are linear in each operand alone (mul, dot_general): a term for each tangent.
Values multilinear_jvp(GraphBuilder& b, const JvpArgs& args);

// --- Batches.

// x with its dimension `from` as dimension `to`, the others in order.
ValueId moved_dim(GraphBuilder& b, ValueId x, int from, int to);
// The operand with the batch as dimension `dim`; repeated along it where it is not batched.
ValueId batched_at(GraphBuilder& b, const Batched& x, int dim, std::int64_t size);
// A dimension of one element of the batch as a dimension of the batched value, and dimensions that way.
inline int dim_in_batch(int dim, int batch_dim) { return dim < batch_dim ? dim : dim + 1; }
std::vector<std::int64_t> dims_in_batch(const std::vector<std::int64_t>& dims, int batch_dim);

// The mesh's axes over which the batch is cut (spmd_axis_name). UserError where it lacks one, or where `taken` cuts another dimension by
// one: `what` names its owner in JAX's text.
Axes batch_pieces(const BatchAxis& axis, const Mesh& mesh, const Spec& taken, std::string_view what);

// The rule of elementwise ops, with which the transformation serves those that give none.
std::vector<Batched> batch_elementwise(GraphBuilder& b, const BatchArgs& args);

}  // namespace shardlab::ops
