#include "runtime/exec/array_ops.h"

#include "runtime/exec/op_call.h"

namespace shardlab {
namespace {

using detail::on;
using detail::one;

Where where_of(const Operands& operands) { return operands.operands().empty() ? Where{} : operands.operands().front().where(); }

Array joined(std::string_view name, const Operands& arrays, const Attrs& attrs = {}) {
  return apply(name, arrays.operands(), attrs, where_of(arrays)).at(0);
}

// For ops with one axis or none.
Attrs on_one_axis(std::string_view op, const AxisList& axis, Attrs attrs = {}) {
  if (!axis.is_all() && axis.axes().size() != 1) throw_user_error("{}: wanted one axis, got {}", op, axis.axes().size());
  if (!axis.is_all()) attrs.set("axis", axis.axes().front());
  return attrs;
}

}  // namespace

Array concatenate(const Operands& arrays, std::int64_t axis) { return joined("concatenate", arrays, {{"axis", axis}}); }
Array stack(const Operands& arrays, std::int64_t axis) { return joined("stack", arrays, {{"axis", axis}}); }
Array hstack(const Operands& arrays) { return joined("hstack", arrays); }
Array vstack(const Operands& arrays) { return joined("vstack", arrays); }
Array dstack(const Operands& arrays) { return joined("dstack", arrays); }
Array column_stack(const Operands& arrays) { return joined("column_stack", arrays); }
std::vector<Array> split(const Operand& x, std::int64_t sections, std::int64_t axis) {
  return apply("split", {x}, {{"sections", sections}, {"axis", axis}}, x.where());
}
std::vector<Array> split(const Operand& x, const std::vector<std::int64_t>& indices, std::int64_t axis) {
  return apply("split", {x}, {{"indices", indices}, {"axis", axis}}, x.where());
}
std::vector<Array> array_split(const Operand& x, std::int64_t sections, std::int64_t axis) {
  return apply("array_split", {x}, {{"sections", sections}, {"axis", axis}}, x.where());
}
Array slice(const Operand& x, const Shape& start, const Shape& limit, const Shape& stride) {
  Attrs attrs{{"start", start}, {"limit", limit}};
  if (!stride.empty()) attrs.set("stride", stride);
  return one("slice", {x}, attrs);
}
Array slice_in_dim(const Operand& x, std::int64_t start, std::int64_t limit, std::int64_t axis) {
  return one("slice_in_dim", {x}, {{"start_index", start}, {"limit_index", limit}, {"axis", axis}});
}
Array pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& pad_width, std::string_view mode,
          double constant_value) {
  std::vector<std::int64_t> widths;
  for (auto [low, high] : pad_width) widths.insert(widths.end(), {low, high});
  Attrs attrs{{"pad_width", widths}, {"mode", std::string(mode)}};
  if (constant_value != 0) attrs.set("value", constant_value);
  return one("pad", {x}, attrs);
}
Array lax_pad(const Operand& x, const Operand& padding_value, const std::vector<Padding>& padding) {
  std::vector<std::int64_t> numbers;
  for (const Padding& p : padding) numbers.insert(numbers.end(), {p.low, p.high, p.interior});
  return one("pad", {x, padding_value}, {{"padding", numbers}});
}
Array tile(const Operand& x, const std::vector<std::int64_t>& reps) { return one("tile", {x}, {{"reps", reps}}); }
Array repeat(const Operand& x, std::int64_t repeats, const AxisList& axis, const OutOptions& options) {
  return apply_to("repeat", {x}, on_one_axis("repeat", axis, {{"repeats", repeats}}), x.where(), options.out_sharding).at(0);
}

Array copy(const Operand& x) { return one("copy", {x}); }
Array glu(const Operand& x, std::int64_t axis) { return one("glu", {x}, {{"axis", axis}}); }

Array roll(const Operand& x, std::int64_t shift, const AxisList& axis) { return one("roll", {x}, on(axis, {{"shift", shift}})); }
Array roll(const Operand& x, const std::vector<std::int64_t>& shift, const AxisList& axis) {
  return one("roll", {x}, on(axis, {{"shift", shift}}));
}
Array flip(const Operand& x, const AxisList& axis) { return one("flip", {x}, on(axis)); }
Array moveaxis(const Operand& x, const AxisList& source, const AxisList& destination) {
  if (source.is_all() || destination.is_all()) throw_user_error("moveaxis at {}: name the axes to move", x.where().text());
  return one("moveaxis", {x}, {{"source", source.axes()}, {"destination", destination.axes()}});
}
Array swapaxes(const Operand& x, std::int64_t axis1, std::int64_t axis2) {
  return one("swapaxes", {x}, {{"axis1", axis1}, {"axis2", axis2}});
}
Array diff(const Operand& x, std::int64_t n, std::int64_t axis) { return one("diff", {x}, {{"n", n}, {"axis", axis}}); }

namespace {
Attrs sort_attrs(const SortOptions& options) {
  Attrs attrs{{"axis", options.axis}};
  if (options.descending) attrs.set("descending", true);
  return attrs;
}
Attrs extremum_attrs(std::string_view op, const AxisList& axis, bool keepdims) {
  Attrs attrs = on_one_axis(op, axis);
  if (keepdims) attrs.set("keepdims", true);
  return attrs;
}
}  // namespace

Array sort(const Operand& x, const SortOptions& options) { return one("sort", {x}, sort_attrs(options)); }
Array argsort(const Operand& x, const SortOptions& options) { return one("argsort", {x}, sort_attrs(options)); }
std::pair<Array, Array> top_k(const Operand& x, std::int64_t k, std::int64_t axis) {
  std::vector<Array> results = apply("top_k", {x}, {{"k", k}, {"axis", axis}}, x.where());
  return {results.at(0), results.at(1)};
}
Array argmax(const Operand& x, const AxisList& axis, bool keepdims) { return one("argmax", {x}, extremum_attrs("argmax", axis, keepdims)); }
Array argmin(const Operand& x, const AxisList& axis, bool keepdims) { return one("argmin", {x}, extremum_attrs("argmin", axis, keepdims)); }
Array cumsum(const Operand& x, const AxisList& axis) { return one("cumsum", {x}, on_one_axis("cumsum", axis)); }
Array cumprod(const Operand& x, const AxisList& axis) { return one("cumprod", {x}, on_one_axis("cumprod", axis)); }
Array cummax(const Operand& x, std::int64_t axis) { return one("cummax", {x}, {{"axis", axis}}); }
Array cummin(const Operand& x, std::int64_t axis) { return one("cummin", {x}, {{"axis", axis}}); }

Array take(const Operand& x, const Operand& indices, const AxisList& axis, std::string_view mode) {
  return one("take", {x, indices}, on_one_axis("take", axis, {{"mode", std::string(mode)}}));
}
Array take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis, std::string_view mode) {
  return one("take_along_axis", {x, indices}, {{"axis", axis}, {"mode", std::string(mode)}});
}
Array dynamic_slice(const Operand& x, const Operands& starts, const Shape& sizes) {
  std::vector<Operand> operands{x};
  operands.insert(operands.end(), starts.operands().begin(), starts.operands().end());
  return one("dynamic_slice", operands, {{"sizes", sizes}});
}
Array dynamic_update_slice(const Operand& x, const Operand& update, const Operands& starts) {
  std::vector<Operand> operands{x, update};
  operands.insert(operands.end(), starts.operands().begin(), starts.operands().end());
  return one("dynamic_update_slice", operands);
}
Array dynamic_index_in_dim(const Operand& x, const Operand& index, std::int64_t axis, bool keepdims) {
  return one("dynamic_index_in_dim", {x, index}, {{"axis", axis}, {"keepdims", keepdims}});
}
Array dynamic_update_index_in_dim(const Operand& x, const Operand& update, const Operand& index, std::int64_t axis) {
  return one("dynamic_update_index_in_dim", {x, update, index}, {{"axis", axis}});
}

Array identity(std::int64_t n, DType dtype, std::source_location where) {
  Where at = Where::from(where);
  return apply("identity", {Operand(Scalar{n}, at)}, {{"dtype", dtype}}, at).at(0);
}
Array tri(std::int64_t n, std::int64_t m, std::int64_t k, DType dtype, std::source_location where) {
  Where at = Where::from(where);
  return apply("tri", {Operand(Scalar{n}, at), Operand(Scalar{m}, at)}, {{"k", k}, {"dtype", dtype}}, at).at(0);
}
Array tril(const Operand& x, std::int64_t k) { return one("tril", {x}, {{"k", k}}); }
Array triu(const Operand& x, std::int64_t k) { return one("triu", {x}, {{"k", k}}); }
Array diag(const Operand& x, std::int64_t k) { return one("diag", {x}, {{"k", k}}); }
Array diagonal(const Operand& x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
  return one("diagonal", {x}, {{"k", k}, {"axis1", axis1}, {"axis2", axis2}});
}
Array trace(const Operand& x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
  return one("trace", {x}, {{"k", k}, {"axis1", axis1}, {"axis2", axis2}});
}
Array outer(const Operand& x, const Operand& y) { return one("outer", {x, y}); }
Array inner(const Operand& x, const Operand& y) { return one("inner", {x, y}); }
Array vdot(const Operand& x, const Operand& y) { return one("vdot", {x, y}); }
Array tensordot(const Operand& x, const Operand& y, std::int64_t axes) { return one("tensordot", {x, y}, {{"axes", axes}}); }
Array kron(const Operand& x, const Operand& y) { return one("kron", {x, y}); }
std::vector<Array> meshgrid(const Operands& arrays, const MeshgridOptions& options) {
  Attrs attrs{{"indexing", std::string(options.indexing)}};
  if (options.sparse) attrs.set("sparse", true);
  return apply("meshgrid", arrays.operands(), attrs, where_of(arrays));
}

}  // namespace shardlab
