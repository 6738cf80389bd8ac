// What shape rules and expansions share: axes, broadcasting of shapes, samples.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// No array has more elements than this, so that sizes in bytes never overflow.
inline constexpr std::int64_t kElementsMax = std::int64_t(1) << 48;

// UserError where a size is negative or the shape has more than kElementsMax elements.
void check_shape(std::string_view op, const Shape& shape);

// `axis` in [-rank, rank) as a dimension; UserError with NumPy's text.
int normalized_axis(std::string_view op, std::int64_t axis, int rank);

// The attribute as given, an integer or a list, as dimensions in the order given; nothing where it is absent. UserError for axes out of
// range or repeated.
std::optional<std::vector<int>> axes_of(std::string_view op, const Attrs& attrs, std::string_view name, int rank);

std::vector<std::int64_t> integers_of(const std::vector<int>& values);
// An attribute that is an integer or a list, as a list.
std::vector<std::int64_t> integer_list_of(const Attrs& attrs, std::string_view name);

// NumPy's broadcasting. UserError "add got incompatible shapes for broadcasting: (4, 8), (3,)".
Shape broadcast_shapes(std::string_view op, const std::vector<Shape>& shapes);

// UserError where NumPy's broadcasting cannot make `from` the shape `wanted`.
void check_broadcasts_to(std::string_view op, const Shape& from, const Shape& wanted);

// A primitive's integer list attribute, checked to be there. UserError where it is not.
const std::vector<std::int64_t>& required_integers(const OpDef& op, const Attrs& attrs, std::string_view name);

// "(float32, int32)"
std::string dtypes_text(std::span<const DType> dtypes);

// Factor rule of elementwise ops: dimension d of the result and of every operand that is no scalar.
FactorRule elementwise_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs);

// One dtype of each kind: what generated tests run every shape for.
inline constexpr DType kMainDTypes[] = {DType::kBool, DType::kInt32, DType::kUint32, DType::kFloat32, DType::kComplex64};
bool is_main_dtype(DType dtype);

// Shapes of the samples of elementwise ops: a matrix, a prime size, a scalar, an empty one.
const std::vector<Shape>& sample_shapes();

}  // namespace shardlab::ops
