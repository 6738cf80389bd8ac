// Runs kernels and whole graphs on one device, for tests.
#pragma once

#include <random>
#include <vector>

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"

namespace shardlab::testing_ops {

struct Tensor {
  TensorType type;
  BufferRef data;
  template <typename T>
  const T* as() const {
    return data->as<T>();
  }
};

// Elements from a seed: small integers, and fractions for floats; no NaN.
Tensor random_tensor(const TensorType& type, std::mt19937& random);
template <typename T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& elements) {
  TensorType type{dtype_of<T>::value, shape};
  SL_CHECK(type.elements() == std::int64_t(elements.size()));
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  for (std::size_t i = 0; i < elements.size(); ++i) buffer->as<T>()[i] = elements[i];
  return {type, buffer};
}

// One primitive on parts of arrays of `operand_types`: `operand_boxes` and `result_boxes` are the global indices of the parts.
std::vector<Tensor> run_part(const OpDef& op, const std::vector<TensorType>& operand_types, const std::vector<Tensor>& operands,
                             const std::vector<Box>& operand_boxes, const std::vector<TensorType>& result_types,
                             const std::vector<Box>& result_boxes, const Attrs& attrs);
// The elements of a box, as an array of its own.
Tensor part_of(const Tensor& tensor, const Box& box);
std::vector<Tensor> run(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs);
std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& params);

// A user's call of one op on arrays: the graph it expands to, and its results.
Graph graph_of(std::string_view op, const std::vector<TensorType>& params, const Attrs& attrs = {},
               const std::vector<Scalar>& scalars = {});
std::vector<Tensor> call(std::string_view op, const std::vector<Tensor>& operands, const Attrs& attrs = {},
                         const std::vector<Scalar>& scalars = {});

// Elements as complex numbers, which hold every dtype's values.
std::vector<std::complex<double>> numbers(const Tensor& tensor);
// Equal, or for floats near: |a - b| <= tolerance (1 + |b|), NaN equals NaN.
void expect_near(const Tensor& got, const Tensor& wanted, double tolerance, const std::string& what);

std::string describe(const OpDef& op, const Sample& sample);

}  // namespace shardlab::testing_ops
