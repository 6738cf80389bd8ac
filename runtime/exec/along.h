// jax.numpy's functions of functions: apply_along_axis, apply_over_axes, piecewise.
#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/vmap.h"

namespace shardlab {

// `function` of each row along an axis; the dimensions of what it gives stand in the axis' place.
template <typename F>
Array apply_along_axis(F function, std::int64_t axis, const Array& x) {
  const std::int64_t rank = std::int64_t(x.shape().size());
  if (axis < 0) axis += rank;
  const Array rows = moveaxis(x, axis, -1);
  Shape lead = rows.shape();
  const std::int64_t length = lead.back();
  lead.pop_back();
  const std::int64_t count = std::accumulate(lead.begin(), lead.end(), std::int64_t(1), std::multiplies<>());
  const Array made = vmap(std::move(function))(reshape(rows, {count, length}));
  Shape shape = lead;
  shape.insert(shape.end(), made.shape().begin() + 1, made.shape().end());
  std::vector<std::int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::int64_t(0));
  std::rotate(order.begin() + axis, order.begin() + std::int64_t(lead.size()), order.end());
  return transpose(reshape(made, shape), order);
}

// `function(x, axis)` for each axis in turn; a dimension that it drops stays with size 1.
template <typename F>
Array apply_over_axes(F function, Array x, const std::vector<std::int64_t>& axes) {
  for (std::int64_t axis : axes) {
    const std::int64_t rank = std::int64_t(x.shape().size());
    Array made = function(x, axis < 0 ? axis + rank : axis);
    x = made.shape().size() == x.shape().size() ? made : expand_dims(made, axis < 0 ? axis + rank : axis);
  }
  return x;
}

// The function of the last condition that holds, of x; where none does, what one more function says, else 0.
inline Array piecewise(const Array& x, const std::vector<Array>& conditions,
                       const std::vector<std::function<Array(const Array&)>>& functions) {
  if (functions.size() != conditions.size() && functions.size() != conditions.size() + 1)
    throw_user_error("with {} condition(s), either {} or {} functions are expected; got {}", conditions.size(), conditions.size(),
                     conditions.size() + 1, functions.size());
  Array result = functions.size() > conditions.size() ? functions.back()(x) : zeros_like(x);
  for (std::size_t i = 0; i < conditions.size(); ++i) result = where(conditions[i], functions[i](x), result);
  return result;
}

}  // namespace shardlab
