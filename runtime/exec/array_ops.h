// The ops that cut, join, shift, sort, search and look up arrays, as functions with JAX's names. See ops.h for how they take operands.
#pragma once

#include "runtime/exec/ops.h"

namespace shardlab {

// --- Joining and cutting.

Array concatenate(const Operands& arrays, std::int64_t axis = 0);
Array stack(const Operands& arrays, std::int64_t axis = 0);
Array hstack(const Operands& arrays);
Array vstack(const Operands& arrays);
Array dstack(const Operands& arrays);
Array column_stack(const Operands& arrays);
std::vector<Array> split(const Operand& x, std::int64_t sections, std::int64_t axis = 0);
std::vector<Array> split(const Operand& x, const std::vector<std::int64_t>& indices, std::int64_t axis = 0);
std::vector<Array> array_split(const Operand& x, std::int64_t sections, std::int64_t axis = 0);
// jax.lax's: start, limit and stride of every dimension.
Array slice(const Operand& x, const Shape& start, const Shape& limit, const Shape& stride = {});
Array slice_in_dim(const Operand& x, std::int64_t start, std::int64_t limit, std::int64_t axis = 0);
// jax.numpy's: [low, high] of each dimension, or one pair for all; mode constant, edge, wrap, reflect or symmetric.
Array pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& pad_width, std::string_view mode = "constant",
          double constant_value = 0);
// jax.lax.pad: low, high and interior of each dimension; negative ones cut.
struct Padding {
  std::int64_t low = 0, high = 0, interior = 0;
};
Array lax_pad(const Operand& x, const Operand& padding_value, const std::vector<Padding>& padding);
Array tile(const Operand& x, const std::vector<std::int64_t>& reps);
Array repeat(const Operand& x, std::int64_t repeats, const AxisList& axis = AxisList::all(), const OutOptions& options = {});
// The same value with the same sharding: arrays are immutable.
Array copy(const Operand& x);
// The first half along an axis times the logistic function of the second.
Array glu(const Operand& x, std::int64_t axis = -1);

// --- Moving.

Array roll(const Operand& x, std::int64_t shift, const AxisList& axis = AxisList::all());
Array roll(const Operand& x, const std::vector<std::int64_t>& shift, const AxisList& axis);
Array flip(const Operand& x, const AxisList& axis = AxisList::all());
Array moveaxis(const Operand& x, const AxisList& source, const AxisList& destination);
Array swapaxes(const Operand& x, std::int64_t axis1, std::int64_t axis2);
Array diff(const Operand& x, std::int64_t n = 1, std::int64_t axis = -1);

// --- Sorting, searching, accumulating.

struct SortOptions {
  detail::ByNameOnly by_name{};
  std::int64_t axis = -1;
  bool descending = false;
};
Array sort(const Operand& x, const SortOptions& options = {});
Array argsort(const Operand& x, const SortOptions& options = {});
std::pair<Array, Array> top_k(const Operand& x, std::int64_t k, std::int64_t axis = -1);
Array argmax(const Operand& x, const AxisList& axis = AxisList::all(), bool keepdims = false);
Array argmin(const Operand& x, const AxisList& axis = AxisList::all(), bool keepdims = false);
Array cumsum(const Operand& x, const AxisList& axis = AxisList::all());
Array cumprod(const Operand& x, const AxisList& axis = AxisList::all());
Array cummax(const Operand& x, std::int64_t axis = 0);
Array cummin(const Operand& x, std::int64_t axis = 0);

// --- Computed places.

// Indices out of bounds: mode fill (NaN), clip or wrap.
Array take(const Operand& x, const Operand& indices, const AxisList& axis = AxisList::all(), std::string_view mode = "fill");
Array take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis = -1, std::string_view mode = "fill");
Array dynamic_slice(const Operand& x, const Operands& starts, const Shape& sizes);
Array dynamic_update_slice(const Operand& x, const Operand& update, const Operands& starts);
Array dynamic_index_in_dim(const Operand& x, const Operand& index, std::int64_t axis = 0, bool keepdims = true);
Array dynamic_update_index_in_dim(const Operand& x, const Operand& update, const Operand& index, std::int64_t axis = 0);

// --- Matrices and grids.

Array identity(std::int64_t n, DType dtype = float32, std::source_location where = std::source_location::current());
Array tri(std::int64_t n, std::int64_t m, std::int64_t k = 0, DType dtype = float32,
          std::source_location where = std::source_location::current());
Array tril(const Operand& x, std::int64_t k = 0);
Array triu(const Operand& x, std::int64_t k = 0);
Array diag(const Operand& x, std::int64_t k = 0);
Array diagonal(const Operand& x, std::int64_t k = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
Array trace(const Operand& x, std::int64_t k = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
Array outer(const Operand& x, const Operand& y);
Array inner(const Operand& x, const Operand& y);
Array vdot(const Operand& x, const Operand& y);
Array tensordot(const Operand& x, const Operand& y, std::int64_t axes = 2);
Array kron(const Operand& x, const Operand& y);
struct MeshgridOptions {
  detail::ByNameOnly by_name{};
  std::string_view indexing = "xy";
  bool sparse = false;
};
std::vector<Array> meshgrid(const Operands& arrays, const MeshgridOptions& options = {});

}  // namespace shardlab
