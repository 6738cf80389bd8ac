// jax.lax in C++, as far as jax.numpy has no name for it: convolutions, sliding windows, products over chosen dimensions, gather, scatter,
// ranges of one dimension. See ops.h for how they take operands, and docs/ops.md for shapes, dtypes and errors.
#pragma once

#include <array>
#include <string>

#include "runtime/exec/ops.h"

namespace shardlab {

// What lies around the dimensions that a window slides over: "SAME", "SAME_LOWER", "VALID", or [low, high] of each.
class WindowPadding {
 public:
  using Pair = std::pair<std::int64_t, std::int64_t>;
  WindowPadding(const char* mode) : mode_(mode) {}                                             // NOLINT: implicit on purpose
  WindowPadding(std::string mode) : mode_(std::move(mode)) {}                                  // NOLINT
  WindowPadding(std::initializer_list<Pair> pads) : WindowPadding(std::vector<Pair>(pads)) {}  // NOLINT
  WindowPadding(const std::vector<Pair>& pads);                                                // NOLINT
  void set(Attrs& attrs) const;

 private:
  std::string mode_;                // empty where there are numbers
  std::vector<std::int64_t> pads_;  // low and high, one dimension after the other
};

// --- Convolutions: cross-correlations of lhs with a kernel, over one spatial dimension or more.

struct ConvOptions {
  detail::ByNameOnly by_name{};
  std::vector<std::int64_t> lhs_dilation = {}, rhs_dilation = {};  // the steps between elements; 1 by default
  std::array<std::string, 3> dimension_numbers = {};  // of lhs, kernel and result: {"NHWC", "HWIO", "NHWC"}; features first by default
  std::int64_t feature_group_count = 1, batch_group_count = 1;
  std::optional<OutSharding> out_sharding = {};
};
Array conv_general_dilated(const Operand& lhs, const Operand& kernel, const std::vector<std::int64_t>& window_strides,
                           const WindowPadding& padding, const ConvOptions& options = {});
// lhs [batch, features, …], kernel [features out, features in, …].
Array conv(const Operand& lhs, const Operand& kernel, const std::vector<std::int64_t>& window_strides, const WindowPadding& padding);

// --- Windows that slide over all dimensions (reduce_window), or over the spatial ones of [batch, …, features] (pools).

struct WindowOptions {
  detail::ByNameOnly by_name{};
  std::vector<std::int64_t> window_strides = {};  // 1 by default
  WindowPadding padding = "VALID";
  std::vector<std::int64_t> base_dilation = {}, window_dilation = {};
};
// `reducer`: sum, prod, max or min, from its identity on.
Array reduce_window(const Operand& x, std::string_view reducer, const Shape& window_dimensions, const WindowOptions& options = {});
struct PoolOptions {
  detail::ByNameOnly by_name{};
  std::vector<std::int64_t> strides = {};  // 1 by default
  WindowPadding padding = "VALID";
};
Array max_pool(const Operand& x, const Shape& window_shape, const PoolOptions& options = {});
Array min_pool(const Operand& x, const Shape& window_shape, const PoolOptions& options = {});
// Padding counts as zeros unless told.
Array avg_pool(const Operand& x, const Shape& window_shape, const PoolOptions& options = {}, bool count_include_pad = true);

// --- Products.

// Dimensions of the left and of the right operand, in pairs.
struct DotDimensions {
  std::vector<std::int64_t> lhs, rhs;
};
// The result has the batch dimensions, then the others of x, then the others of y.
Array dot_general(const Operand& x, const Operand& y, const DotDimensions& contract, const DotDimensions& batch = {},
                  const OutOptions& options = {});
Array batch_matmul(const Operand& x, const Operand& y);

// --- Windows at computed places; x[{…}] and x.at({…}) of indexing.h are made of these.

struct GatherDimensionNumbers {
  std::vector<std::int64_t> offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims = {},
                                                                                start_indices_batching_dims = {};
};
// The last dimension of `indices` holds index vectors. Starts are moved so that windows lie within x.
Array gather(const Operand& x, const Operand& indices, const GatherDimensionNumbers& dims, const Shape& slice_sizes);
// Their inverse: windows of x changed by `updates`; those outside x are dropped. `offset_dims` are the updates'.
Array scatter(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims);
Array scatter_add(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims);
Array scatter_sub(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims);
Array scatter_mul(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims);
Array scatter_min(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims);
Array scatter_max(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims);

// --- Dimensions.

Array dynamic_slice_in_dim(const Operand& x, const Operand& start, std::int64_t slice_size, std::int64_t axis = 0);
Array dynamic_update_slice_in_dim(const Operand& x, const Operand& update, const Operand& start, std::int64_t axis);
Array index_in_dim(const Operand& x, std::int64_t index, std::int64_t axis = 0, bool keepdims = true);
// Dimension d of x becomes dimension dims[d] of the shape.
Array broadcast_in_dim(const Operand& x, const Shape& shape, const std::vector<std::int64_t>& dims);
// Dimensions from `first` to before `stop` (all that follow by default) as one.
Array collapse(const Operand& x, std::int64_t first, std::optional<std::int64_t> stop = {});
Array rev(const Operand& x, const std::vector<std::int64_t>& dimensions);
// The windows of so many elements that slide along a dimension, in which they are counted; a new last dimension has their elements.
Array sliding_windows(const Operand& x, std::int64_t dimension, std::int64_t size, std::int64_t stride = 1, std::int64_t dilation = 1);
Array reduce_sum(const Operand& x, const std::vector<std::int64_t>& axes);
Array reduce_prod(const Operand& x, const std::vector<std::int64_t>& axes);
Array reduce_max(const Operand& x, const std::vector<std::int64_t>& axes);
Array reduce_min(const Operand& x, const std::vector<std::int64_t>& axes);
Array reduce_and(const Operand& x, const std::vector<std::int64_t>& axes);
Array reduce_or(const Operand& x, const std::vector<std::int64_t>& axes);

// --- Elementwise.

Array clamp(const Operand& low, const Operand& x, const Operand& high);
Array rem(const Operand& x, const Operand& y);  // with the sign of x
Array integer_pow(const Operand& x, std::int64_t y);
Array clz(const Operand& x);  // leading zeros
Array shift_right_logical(const Operand& x, const Operand& y);

// The running logarithm of sums of exponentials.
Array cumlogsumexp(const Operand& x, std::int64_t axis = 0, bool reverse = false);
// Rounded to numbers of fewer bits.
Array reduce_precision(const Operand& x, std::int64_t exponent_bits, std::int64_t mantissa_bits);
Array broadcast(const Operand& x, const Shape& sizes);  // new dimensions before x's own
std::pair<Array, Array> sort_key_val(const Operand& keys, const Operand& values, std::int64_t dimension = -1);
// The k largest or least, and their places; on CPUs they are exact, as in JAX.
std::pair<Array, Array> approx_max_k(const Operand& x, std::int64_t k, std::int64_t reduction_dimension = -1);
std::pair<Array, Array> approx_min_k(const Operand& x, std::int64_t k, std::int64_t reduction_dimension = -1);
// Each element from the case of its number; `which` is bool or int32, a scalar or of the cases' shape.
Array select_n(const Operand& which, const Operands& cases);
// Rows [m, k] in groups of these sizes, each times its group's matrix [g, k, n].
Array ragged_dot(const Operand& rows, const Operand& matrices, const Operand& group_sizes);

struct ConvTransposeOptions {
  detail::ByNameOnly by_name{};
  std::vector<std::int64_t> rhs_dilation = {};
  std::array<std::string, 3> dimension_numbers = {};  // {"NHWC", "HWIO", "NHWC"} of two spatial dimensions by default, and so on
  bool transpose_kernel = false;                      // turned, as in the gradient of a convolution
};
Array conv_transpose(const Operand& lhs, const Operand& kernel, const std::vector<std::int64_t>& strides, const WindowPadding& padding,
                     const ConvTransposeOptions& options = {});
// Each window's elements as features of the result; dimensions as in conv_general_dilated.
Array conv_general_dilated_patches(const Operand& x, const Shape& filter_shape, const std::vector<std::int64_t>& window_strides,
                                   const WindowPadding& padding, const ConvOptions& options = {});

}  // namespace shardlab
