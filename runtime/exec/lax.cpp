#include "runtime/exec/lax.h"

#include "runtime/exec/op_call.h"

namespace shardlab {
namespace {

using detail::one;
using detail::two;
using List = std::vector<std::int64_t>;

// An attribute that is left out where the list is empty.
void set_if_any(Attrs& attrs, std::string_view name, const List& values) {
  if (!values.empty()) attrs.set(name, values);
}
Array pooled(std::string_view name, const Operand& x, const Shape& window_shape, const PoolOptions& options, Attrs attrs = {}) {
  attrs.set("window_shape", window_shape);
  set_if_any(attrs, "strides", options.strides);
  options.padding.set(attrs);
  return one(name, {x}, attrs);
}
// Pairs of lists of dimensions, as attributes hold them: the left operand's, then the right's.
List paired(const DotDimensions& dims, std::string_view which, Where where) {
  if (dims.lhs.size() != dims.rhs.size())
    throw_user_error("dot_general at {}: as many {} dimensions of both operands were wanted, got {} and {}", where.text(), which,
                     text_of(dims.lhs), text_of(dims.rhs));
  List both = dims.lhs;
  both.insert(both.end(), dims.rhs.begin(), dims.rhs.end());
  return both;
}
Array scattered(std::string_view name, const Operand& x, const Operand& indices, const Operand& updates,
                const GatherDimensionNumbers& dims) {
  Attrs attrs{{"update_window_dims", dims.offset_dims},
              {"collapsed_slice_dims", dims.collapsed_slice_dims},
              {"start_index_map", dims.start_index_map}};
  set_if_any(attrs, "operand_batching_dims", dims.operand_batching_dims);
  set_if_any(attrs, "start_indices_batching_dims", dims.start_indices_batching_dims);
  return one(name, {x, indices, updates}, attrs);
}

}  // namespace

WindowPadding::WindowPadding(const std::vector<Pair>& pads) {
  for (auto [low, high] : pads) pads_.insert(pads_.end(), {low, high});
}
void WindowPadding::set(Attrs& attrs) const {
  if (mode_.empty())
    attrs.set("pads", pads_);
  else
    attrs.set("padding", mode_);
}

Array conv_general_dilated(const Operand& lhs, const Operand& kernel, const List& window_strides, const WindowPadding& padding,
                           const ConvOptions& options) {
  Attrs attrs{{"feature_group_count", options.feature_group_count}, {"batch_group_count", options.batch_group_count}};
  set_if_any(attrs, "window_strides", window_strides);
  padding.set(attrs);
  set_if_any(attrs, "lhs_dilation", options.lhs_dilation);
  set_if_any(attrs, "rhs_dilation", options.rhs_dilation);
  const auto& names = options.dimension_numbers;
  if (!names[0].empty() || !names[1].empty() || !names[2].empty())
    attrs.set("dimension_numbers", std::vector<std::string>(names.begin(), names.end()));
  return std::move(apply_to("conv", {lhs, kernel}, attrs, lhs.where(), options.out_sharding).at(0));
}
Array conv(const Operand& lhs, const Operand& kernel, const List& window_strides, const WindowPadding& padding) {
  return conv_general_dilated(lhs, kernel, window_strides, padding);
}

Array reduce_window(const Operand& x, std::string_view reducer, const Shape& window_dimensions, const WindowOptions& options) {
  Attrs attrs{{"reducer", std::string(reducer)}, {"window_dimensions", window_dimensions}};
  set_if_any(attrs, "window_strides", options.window_strides);
  options.padding.set(attrs);
  set_if_any(attrs, "base_dilation", options.base_dilation);
  set_if_any(attrs, "window_dilation", options.window_dilation);
  return one("reduce_window", {x}, attrs);
}
Array max_pool(const Operand& x, const Shape& window_shape, const PoolOptions& options) {
  return pooled("max_pool", x, window_shape, options);
}
Array min_pool(const Operand& x, const Shape& window_shape, const PoolOptions& options) {
  return pooled("min_pool", x, window_shape, options);
}
Array avg_pool(const Operand& x, const Shape& window_shape, const PoolOptions& options, bool count_include_pad) {
  return pooled("avg_pool", x, window_shape, options, {{"count_include_pad", count_include_pad}});
}

Array dot_general(const Operand& x, const Operand& y, const DotDimensions& contract, const DotDimensions& batch,
                  const OutOptions& options) {
  Attrs attrs;
  set_if_any(attrs, "contract", paired(contract, "contracting", x.where()));
  set_if_any(attrs, "batch", paired(batch, "batch", x.where()));
  return std::move(apply_to("dot_general", {x, y}, attrs, x.where(), options.out_sharding).at(0));
}
Array batch_matmul(const Operand& x, const Operand& y) { return one("batch_matmul", {x, y}); }

Array gather(const Operand& x, const Operand& indices, const GatherDimensionNumbers& dims, const Shape& slice_sizes) {
  Attrs attrs{{"offset_dims", dims.offset_dims},
              {"collapsed_slice_dims", dims.collapsed_slice_dims},
              {"start_index_map", dims.start_index_map},
              {"slice_sizes", slice_sizes}};
  set_if_any(attrs, "operand_batching_dims", dims.operand_batching_dims);
  set_if_any(attrs, "start_indices_batching_dims", dims.start_indices_batching_dims);
  return one("gather", {x, indices}, attrs);
}
Array scatter(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims) {
  return scattered("scatter", x, indices, updates, dims);
}
Array scatter_add(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims) {
  return scattered("scatter_add", x, indices, updates, dims);
}
Array scatter_sub(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims) {
  return scattered("scatter_add", x, indices, Operand(-updates, updates.where()), dims);
}
Array scatter_mul(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims) {
  return scattered("scatter_mul", x, indices, updates, dims);
}
Array scatter_min(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims) {
  return scattered("scatter_min", x, indices, updates, dims);
}
Array scatter_max(const Operand& x, const Operand& indices, const Operand& updates, const GatherDimensionNumbers& dims) {
  return scattered("scatter_max", x, indices, updates, dims);
}

Array dynamic_slice_in_dim(const Operand& x, const Operand& start, std::int64_t slice_size, std::int64_t axis) {
  return one("dynamic_slice_in_dim", {x, start}, {{"slice_size", slice_size}, {"axis", axis}});
}
Array dynamic_update_slice_in_dim(const Operand& x, const Operand& update, const Operand& start, std::int64_t axis) {
  return one("dynamic_update_slice_in_dim", {x, update, start}, {{"axis", axis}});
}
Array index_in_dim(const Operand& x, std::int64_t index, std::int64_t axis, bool keepdims) {
  return one("index_in_dim", {x}, {{"index", index}, {"axis", axis}, {"keepdims", keepdims}});
}
Array broadcast_in_dim(const Operand& x, const Shape& shape, const List& dims) {
  return one("broadcast_in_dim", {x}, {{"shape", shape}, {"dims", dims}});
}
Array collapse(const Operand& x, std::int64_t first, std::optional<std::int64_t> stop) {
  Attrs attrs{{"start_dimension", first}};
  if (stop) attrs.set("stop_dimension", *stop);
  return one("collapse", {x}, attrs);
}
Array rev(const Operand& x, const List& dimensions) { return one("rev", {x}, {{"dims", dimensions}}); }
Array sliding_windows(const Operand& x, std::int64_t dimension, std::int64_t size, std::int64_t stride, std::int64_t dilation) {
  return one("sliding_windows", {x}, {{"dimension", dimension}, {"size", size}, {"stride", stride}, {"dilation", dilation}});
}
Array reduce_sum(const Operand& x, const List& axes) { return one("reduce_sum", {x}, {{"axes", axes}}); }
Array reduce_prod(const Operand& x, const List& axes) { return one("reduce_prod", {x}, {{"axes", axes}}); }
Array reduce_max(const Operand& x, const List& axes) { return one("reduce_max", {x}, {{"axes", axes}}); }
Array reduce_min(const Operand& x, const List& axes) { return one("reduce_min", {x}, {{"axes", axes}}); }
Array reduce_and(const Operand& x, const List& axes) { return one("reduce_and", {x}, {{"axes", axes}}); }
Array reduce_or(const Operand& x, const List& axes) { return one("reduce_or", {x}, {{"axes", axes}}); }

Array clamp(const Operand& low, const Operand& x, const Operand& high) { return one("clamp", {low, x, high}); }
Array rem(const Operand& x, const Operand& y) { return one("rem", {x, y}); }
Array integer_pow(const Operand& x, std::int64_t y) { return one("integer_pow", {x}, {{"y", y}}); }
Array clz(const Operand& x) { return one("clz", {x}); }
Array shift_right_logical(const Operand& x, const Operand& y) { return one("shift_right_logical", {x, y}); }

namespace {

std::vector<std::string> layouts_or(const std::array<std::string, 3>& given, std::array<std::string, 3> otherwise) {
  const std::array<std::string, 3>& taken = given[0].empty() ? otherwise : given;
  return {taken.begin(), taken.end()};
}

}  // namespace

Array cumlogsumexp(const Operand& x, std::int64_t axis, bool reverse) {
  return one("cumlogsumexp", {x}, {{"axis", axis}, {"reverse", reverse}});
}
Array reduce_precision(const Operand& x, std::int64_t exponent_bits, std::int64_t mantissa_bits) {
  return one("reduce_precision", {x}, {{"exponent_bits", exponent_bits}, {"mantissa_bits", mantissa_bits}});
}
Array broadcast(const Operand& x, const Shape& sizes) { return one("broadcast", {x}, {{"sizes", sizes}}); }
std::pair<Array, Array> sort_key_val(const Operand& keys, const Operand& values, std::int64_t dimension) {
  return two("sort_key_val", {keys, values}, {{"dimension", dimension}});
}
std::pair<Array, Array> approx_max_k(const Operand& x, std::int64_t k, std::int64_t reduction_dimension) {
  return two("approx_max_k", {x}, {{"k", k}, {"reduction_dimension", reduction_dimension}});
}
std::pair<Array, Array> approx_min_k(const Operand& x, std::int64_t k, std::int64_t reduction_dimension) {
  return two("approx_min_k", {x}, {{"k", k}, {"reduction_dimension", reduction_dimension}});
}
Array select_n(const Operand& which, const Operands& cases) {
  std::vector<Operand> operands{which};
  for (const Operand& each : cases.operands()) operands.push_back(each);
  return one("select_n", operands);
}
Array ragged_dot(const Operand& rows, const Operand& matrices, const Operand& group_sizes) {
  return one("ragged_dot", {rows, matrices, group_sizes});
}
Array conv_transpose(const Operand& lhs, const Operand& kernel, const std::vector<std::int64_t>& strides, const WindowPadding& padding,
                     const ConvTransposeOptions& options) {
  static const std::string kSpatial[] = {"", "H", "HW", "HWD"};
  const std::string& between = kSpatial[std::min<std::size_t>(strides.size(), 3)];
  Attrs attrs{{"strides", strides},
              {"transpose_kernel", options.transpose_kernel},
              {"dimension_numbers", layouts_or(options.dimension_numbers, {"N" + between + "C", between + "IO", "N" + between + "C"})}};
  set_if_any(attrs, "rhs_dilation", options.rhs_dilation);
  padding.set(attrs);
  return one("conv_transpose", {lhs, kernel}, attrs);
}
Array conv_general_dilated_patches(const Operand& x, const Shape& filter_shape, const std::vector<std::int64_t>& window_strides,
                                   const WindowPadding& padding, const ConvOptions& options) {
  std::string spatial;
  for (std::size_t i = 0; i < filter_shape.size(); ++i) spatial += char('0' + i);
  Attrs attrs{{"filter_shape", filter_shape},
              {"window_strides", window_strides},
              {"dimension_numbers", layouts_or(options.dimension_numbers, {"NC" + spatial, "OI" + spatial, "NC" + spatial})}};
  set_if_any(attrs, "lhs_dilation", options.lhs_dilation);
  set_if_any(attrs, "rhs_dilation", options.rhs_dilation);
  padding.set(attrs);
  return one("conv_general_dilated_patches", {x}, attrs);
}

}  // namespace shardlab
