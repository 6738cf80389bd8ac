// Index tuples and tensors of numbers, for references; and the references of ops that look elements up by index.
#pragma once

#include "tests/ops/naive.h"

namespace shardlab::testing_ops {

// All index tuples of a shape, in row-major order.
std::vector<Shape> indices(const Shape& shape);
std::size_t flat(const Shape& index, const Shape& shape);
Tensor tensor_from(const TensorType& type, const std::vector<Number>& values);

// digamma, igamma, expn and other functions that are integrals, or nothing.
std::optional<ScalarFunction> naive_integral(std::string_view op);

// The value as JAX wraps it around in an integer dtype.
Number wrapped(double value, DType dtype);

// cumsum and its kin, argmax, argmin, sort, top_k, dynamic_slice, dynamic_update_slice, gather, scatter and its kin.
std::optional<Tensor> naive_lookup(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result);
// slice, pad, rev, concatenate.
std::optional<Tensor> naive_moves(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result);

}  // namespace shardlab::testing_ops
