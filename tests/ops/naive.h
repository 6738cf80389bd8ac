// Independent references: plain loops over index tuples in double, nothing shared with the kernels.
#pragma once

#include <complex>
#include <functional>
#include <optional>

#include "tests/ops/evaluate.h"

namespace shardlab::testing_ops {

using Number = std::complex<double>;
using ScalarFunction = std::function<Number(const std::vector<Number>&, DType)>;
// The scalar function of an elementwise op, or nothing. `dtype` is the operands'.
std::optional<ScalarFunction> scalar_function(std::string_view op);
// The result of any primitive by its definition, or nothing where there is no reference.
std::optional<Tensor> naive_result(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result);

}  // namespace shardlab::testing_ops
