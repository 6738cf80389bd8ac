#include "runtime/ops/shapes.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace shardlab::ops {

void check_shape(std::string_view op, const Shape& shape) {
  std::int64_t elements = 1;
  for (std::int64_t size : shape) {
    if (size < 0) throw_user_error("{}: the shape {} has a negative size; sizes are 0 or more", op, text_of(shape));
    if (size > 0 && elements > kElementsMax / size)
      throw_user_error("{}: the shape {} has more than {} elements; use a smaller one", op, text_of(shape), kElementsMax);
    elements *= std::max<std::int64_t>(size, 1);
  }
}

int normalized_axis(std::string_view op, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw_user_error("{}: axis {} is out of bounds for array of dimension {}; use an axis from {} to {}", op, axis, rank, -rank, rank - 1);
  return int(axis < 0 ? axis + rank : axis);
}

std::vector<std::int64_t> integer_list_of(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  if (value != nullptr && std::holds_alternative<std::int64_t>(*value)) return {std::get<std::int64_t>(*value)};
  return attrs.integers(name);
}

std::optional<std::vector<int>> axes_of(std::string_view op, const Attrs& attrs, std::string_view name, int rank) {
  if (!attrs.has(name)) return std::nullopt;
  std::vector<int> axes;
  for (std::int64_t axis : integer_list_of(attrs, name)) {
    int normalized = normalized_axis(op, axis, rank);
    if (std::find(axes.begin(), axes.end(), normalized) != axes.end())
      throw_user_error("{}: duplicate value in '{}': {} names axis {} twice; name each axis once", op, name,
                       text_of(integer_list_of(attrs, name)), axis);
    axes.push_back(normalized);
  }
  return axes;
}

std::vector<std::int64_t> integers_of(const std::vector<int>& values) { return {values.begin(), values.end()}; }

Shape broadcast_shapes(std::string_view op, const std::vector<Shape>& shapes) {
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, 1);
  for (const Shape& shape : shapes) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& size = result[rank - shape.size() + d];
      if (shape[d] == 1 || shape[d] == size) continue;
      if (size != 1) {
        std::vector<std::string> texts;
        for (const Shape& s : shapes) texts.push_back(text_of(s));
        throw_user_error("{} got incompatible shapes for broadcasting: {}; from the last dimension on, sizes must be equal or 1", op,
                         fmt::join(texts, ", "));
      }
      size = shape[d];
    }
  }
  check_shape(op, result);
  return result;
}

void check_broadcasts_to(std::string_view op, const Shape& from, const Shape& wanted) {
  bool fits = from.size() <= wanted.size();
  for (std::size_t d = 0; fits && d < from.size(); ++d) fits = from[d] == 1 || from[d] == wanted[wanted.size() - from.size() + d];
  if (!fits)
    throw_user_error(
        "{}: Incompatible types for broadcasting: input shape={} and requested shape={}; from the last dimension on, sizes must be equal "
        "or the operand's 1",
        op, text_of(from), text_of(wanted));
}

const std::vector<std::int64_t>& required_integers(const OpDef& op, const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr || !std::holds_alternative<std::vector<std::int64_t>>(*value))
    throw_user_error("{}: attribute '{}' is {}, wanted a list of integers", op.name, name, value ? text_of(*value) : "missing");
  return std::get<std::vector<std::int64_t>>(*value);
}

std::string dtypes_text(std::span<const DType> dtypes) {
  std::vector<std::string_view> names;
  for (DType dtype : dtypes) names.push_back(name_of(dtype));
  return fmt::format("{}", fmt::join(names, ", "));
}

FactorRule elementwise_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  int rank = results[0].rank();
  for (int d = 0; d < rank; ++d) {
    std::vector<int> dims;
    for (const TensorType& operand : operands) dims.push_back(operand.rank() == rank ? d : -1);
    rule.add(results[0].shape[d], dims, std::vector<int>(results.size(), d));
  }
  return rule;
}

bool is_main_dtype(DType dtype) { return std::find(std::begin(kMainDTypes), std::end(kMainDTypes), dtype) != std::end(kMainDTypes); }

const std::vector<Shape>& sample_shapes() {
  static const std::vector<Shape> shapes = {{4, 6}, {7}, {}, {0, 3}, {2, 1, 8}};
  return shapes;
}

}  // namespace shardlab::ops
