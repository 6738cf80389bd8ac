// References of the ops that search, sort, accumulate along a dimension, or read and write at computed places.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "tests/ops/naive_index.h"

namespace shardlab::testing_ops {
namespace {

bool is_nan(Number x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
// NaN last.
bool less(Number a, Number b) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
  return a.real() != b.real() ? a.real() < b.real() : a.imag() < b.imag();
}

Number running(std::string_view op, Number a, Number b, DType dtype) {
  bool is_whole = is_integer(dtype);
  if (op.ends_with("sum") || op.ends_with("add")) return is_whole ? wrapped((a + b).real(), dtype) : a + b;
  if (op.ends_with("prod") || op.ends_with("mul")) return is_whole ? wrapped((a * b).real(), dtype) : a * b;
  if (op.ends_with("max")) return less(a, b) ? b : a;
  return less(b, a) ? b : a;
}

std::vector<Number> naive_cumulative(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  std::vector<Number> in = numbers(x), out(in.size());
  std::size_t axis = std::size_t(attrs.integer("axis"));
  std::vector<Shape> order = indices(x.type.shape);
  bool reverse = attrs.flag("reverse");
  if (reverse) std::reverse(order.begin(), order.end());
  for (const Shape& index : order) {
    Shape before = index;
    before[axis] += reverse ? 1 : -1;
    bool is_first = before[axis] < 0 || before[axis] >= x.type.shape[axis];
    Number value = in[flat(index, x.type.shape)];
    out[flat(index, x.type.shape)] = is_first ? value : running(op.name, out[flat(before, x.type.shape)], value, x.type.dtype);
  }
  return out;
}

// The elements of a row along `axis`, for each index of the other dimensions, which `visit` gets with index[axis] = 0.
template <typename F>
void for_each_row(const Tensor& x, std::size_t axis, F&& visit) {
  std::vector<Number> in = numbers(x);
  for (Shape index : indices(x.type.shape)) {
    if (index[axis] != 0) continue;
    std::vector<Number> row;
    for (Shape at = index; at[axis] < x.type.shape[axis]; ++at[axis]) row.push_back(in[flat(at, x.type.shape)]);
    visit(index, row);
  }
}

std::vector<Number> naive_argmax(const OpDef& op, const Tensor& x, const Attrs& attrs) {
  std::vector<Number> out;
  for_each_row(x, std::size_t(attrs.integer("axis")), [&](const Shape&, const std::vector<Number>& row) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < row.size(); ++i)
      if (op.name == "argmax" ? less(row[best], row[i]) : less(row[i], row[best])) best = i;
    out.push_back(double(best));
  });
  return out;
}

// The first operand sorted, or its k largest.
std::vector<Number> naive_sorted(const OpDef& op, const Tensor& x, const Attrs& attrs, const TensorType& result) {
  bool largest = op.name == "top_k";
  std::size_t axis = largest ? x.type.shape.size() - 1 : std::size_t(attrs.integer("axis"));
  std::vector<Number> out(std::size_t(result.elements()));
  for_each_row(x, axis, [&](Shape index, std::vector<Number> row) {
    std::sort(row.begin(), row.end(), [&](Number a, Number b) { return largest ? less(b, a) : less(a, b); });
    for (; index[axis] < result.shape[axis]; ++index[axis]) out[flat(index, result.shape)] = row[std::size_t(index[axis])];
  });
  return out;
}

std::int64_t integer_at(const Tensor& x, std::size_t i) { return std::int64_t(numbers(x)[i].real()); }

std::vector<Number> naive_dynamic(const OpDef& op, const std::vector<Tensor>& operands, const TensorType& result) {
  bool updates = op.name == "dynamic_update_slice";
  const Shape &shape = operands[0].type.shape, &box = updates ? operands[1].type.shape : result.shape;
  Shape start;
  for (std::size_t d = 0; d < shape.size(); ++d)
    start.push_back(std::clamp<std::int64_t>(integer_at(operands[d + (updates ? 2 : 1)], 0), 0, shape[d] - box[d]));
  std::vector<Number> in = numbers(operands[0]), out = updates ? in : std::vector<Number>();
  for (const Shape& index : indices(box)) {
    Shape at = index;
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += start[d];
    if (updates)
      out[flat(at, shape)] = numbers(operands[1])[flat(index, box)];
    else
      out.push_back(in[flat(at, shape)]);
  }
  return out;
}

// Of an element of the gathered (or the updates): its place in the operand, by the definition in StableHLO's specification.
struct Places {
  std::vector<std::int64_t> offset, collapsed, map, operand_batching, indices_batching;

  explicit Places(const Attrs& attrs)
      : offset(attrs.integers("offset_dims")), collapsed(attrs.integers("collapsed_slice_dims")), map(attrs.integers("start_index_map")) {
    if (!attrs.has("operand_batching_dims")) return;
    operand_batching = attrs.integers("operand_batching_dims");
    indices_batching = attrs.integers("start_indices_batching_dims");
  }
  static bool holds(const std::vector<std::int64_t>& list, std::size_t d) {
    return std::find(list.begin(), list.end(), std::int64_t(d)) != list.end();
  }
  // The start of the window that `index` belongs to, and the index within the window.
  std::pair<Shape, Shape> of(const Shape& index, const Tensor& indices, std::size_t rank) const {
    Shape batch, inside, start(rank, 0), window(rank, 0);
    for (std::size_t d = 0; d < index.size(); ++d) (holds(offset, d) ? inside : batch).push_back(index[d]);
    for (std::size_t i = 0; i < map.size(); ++i) {
      Shape at = batch;
      at.push_back(std::int64_t(i));
      start[std::size_t(map[i])] = integer_at(indices, flat(at, indices.type.shape));
    }
    for (std::size_t i = 0; i < operand_batching.size(); ++i)
      start[std::size_t(operand_batching[i])] = batch[std::size_t(indices_batching[i])];
    std::size_t next = 0;
    for (std::size_t d = 0; d < rank; ++d)
      if (!holds(collapsed, d) && !holds(operand_batching, d)) window[d] = inside[next++];
    return {start, window};
  }
};

std::vector<Number> naive_gather(const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  Places places(attrs);
  const Shape& shape = operands[0].type.shape;
  std::vector<Number> in = numbers(operands[0]), out;
  for (const Shape& index : indices(result.shape)) {
    auto [start, window] = places.of(index, operands[1], shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d)
      start[d] = std::clamp<std::int64_t>(start[d], 0, shape[d] - attrs.integers("slice_sizes")[d]) + window[d];
    out.push_back(in[flat(start, shape)]);
  }
  return out;
}

std::vector<Number> naive_scatter(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs) {
  Places places(attrs);
  const Shape &shape = operands[0].type.shape, &updates = operands[2].type.shape;
  std::vector<Number> out = numbers(operands[0]), values = numbers(operands[2]);
  Shape size(shape.size(), 1);
  std::size_t next = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!Places::holds(places.collapsed, d) && !Places::holds(places.operand_batching, d))
      size[d] = updates[std::size_t(places.offset[next++])];
  for (const Shape& index : indices(updates)) {
    auto [start, window] = places.of(index, operands[1], shape.size());
    bool fits = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      fits &= start[d] >= 0 && start[d] + size[d] <= shape[d];
      start[d] += window[d];
    }
    if (!fits) continue;
    Number& to = out[flat(start, shape)];
    Number value = values[flat(index, updates)];
    to = op.name == "scatter" ? value : running(op.name, to, value, operands[0].type.dtype);
  }
  return out;
}

std::vector<Number> naive_conv(const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  auto list = [&](std::string_view name) { return attrs.integers(name); };
  auto lhs_spec = list("lhs_spec"), rhs_spec = list("rhs_spec"), out_spec = list("out_spec");
  const Shape &lhs = operands[0].type.shape, &rhs = operands[1].type.shape;
  std::vector<Number> x = numbers(operands[0]), w = numbers(operands[1]), out;
  std::int64_t groups = attrs.integer("feature_group_count"), batch_groups = attrs.integer("batch_group_count", 1);
  std::int64_t per_group = rhs[std::size_t(rhs_spec[0])] / (groups * batch_groups), batch = lhs[std::size_t(lhs_spec[0])] / batch_groups;
  for (const Shape& index : indices(result.shape)) {
    Number sum = 0;
    for (Shape tap : indices(rhs)) {
      std::int64_t output = index[std::size_t(out_spec[1])];
      if (tap[std::size_t(rhs_spec[0])] != output) continue;
      Shape at(lhs.size());
      const std::int64_t group = output / per_group;
      at[std::size_t(lhs_spec[0])] = (batch_groups > 1 ? group * batch : 0) + index[std::size_t(out_spec[0])];
      at[std::size_t(lhs_spec[1])] = (groups > 1 ? group * rhs[std::size_t(rhs_spec[1])] : 0) + tap[std::size_t(rhs_spec[1])];
      bool is_inside = true;
      for (std::size_t i = 0; i + 2 < lhs.size(); ++i) {
        std::int64_t place = index[std::size_t(out_spec[i + 2])] * list("window_strides")[i] - list("pads")[2 * i] +
                             tap[std::size_t(rhs_spec[i + 2])] * list("rhs_dilation")[i];
        std::int64_t step = list("lhs_dilation")[i], size = lhs[std::size_t(lhs_spec[i + 2])];
        is_inside &= place >= 0 && place % step == 0 && place / step < size;
        at[std::size_t(lhs_spec[i + 2])] = is_inside ? place / step : 0;
      }
      if (is_inside) sum += x[flat(at, lhs)] * w[flat(tap, rhs)];
    }
    out.push_back(is_integer(result.dtype) ? wrapped(sum.real(), result.dtype) : sum);
  }
  return out;
}

// The element of an array of `shape` that the window at `index` sees through one of its taps; nothing where that is padding.
std::optional<Shape> element_under(const Shape& index, const Shape& tap, const Attrs& attrs, const Shape& shape) {
  auto list = [&](std::string_view name) { return attrs.integers(name); };
  Shape at(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t place = index[d] * list("window_strides")[d] - list("pads")[2 * d] + tap[d] * list("window_dilation")[d];
    std::int64_t step = list("base_dilation")[d];
    if (place < 0 || place % step != 0 || place / step >= shape[d]) return std::nullopt;
    at[d] = place / step;
  }
  return at;
}

std::vector<Number> naive_window(const Tensor& operand, const Attrs& attrs, const TensorType& result) {
  auto list = [&](std::string_view name) { return attrs.integers(name); };
  const Shape& shape = operand.type.shape;
  const std::string& reducer = attrs.string("reducer");
  std::vector<Number> x = numbers(operand), out;
  for (const Shape& index : indices(result.shape)) {
    std::vector<Number> seen;
    for (const Shape& tap : indices(list("window_dimensions"))) {
      if (auto at = element_under(index, tap, attrs, shape)) seen.push_back(x[flat(*at, shape)]);
    }
    const double infinity = is_integer(result.dtype) ? double(INT32_MAX) + 1 : std::numeric_limits<double>::infinity();
    Number value = reducer == "sum" ? 0 : reducer == "prod" ? 1 : reducer == "max" ? -infinity : infinity;
    for (Number each : seen) {
      if (reducer == "sum") value += each;
      if (reducer == "prod") value *= each;
      auto pair = [](Number n) { return std::pair(n.real(), n.imag()); };
      if (reducer == "max" && pair(each) > pair(value)) value = each;
      if (reducer == "min" && pair(each) < pair(value)) value = each;
    }
    out.push_back(is_integer(result.dtype) ? wrapped(value.real(), result.dtype) : value);
  }
  return out;
}

// Window by window: the place of its first largest or smallest element, if it is no padding, holds or gets the other array's.
std::vector<Number> naive_choice(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  auto list = [&](std::string_view name) { return attrs.integers(name); };
  const bool is_scatter = op.name == "select_and_scatter_add", is_max = attrs.string("reducer") == "max";
  const Shape& shape = operands[0].type.shape;
  const Shape& windows = is_scatter ? operands[1].type.shape : result.shape;
  std::vector<Number> given = numbers(operands[1]), x = numbers(operands[0]), out(std::size_t(result.elements()));
  for (const Shape& index : indices(windows)) {
    std::int64_t best = -1;
    for (const Shape& tap : indices(list("window_dimensions"))) {
      auto at = element_under(index, tap, attrs, shape);
      if (!at) continue;
      std::int64_t here = std::int64_t(flat(*at, shape));
      double difference = best < 0 ? 0 : x[std::size_t(here)].real() - x[std::size_t(best)].real();
      if (best < 0 || (is_max ? difference > 0 : difference < 0)) best = here;
    }
    std::size_t window = std::size_t(flat(index, windows));
    if (best >= 0 && is_scatter) out[std::size_t(best)] += given[window];
    if (best >= 0 && !is_scatter) out[window] = given[std::size_t(best)];
  }
  return out;
}

}  // namespace

std::optional<Tensor> naive_lookup(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  if (op.name.starts_with("cum")) return tensor_from(result, naive_cumulative(op, operands[0], attrs));
  if (op.name == "argmax" || op.name == "argmin") return tensor_from(result, naive_argmax(op, operands[0], attrs));
  if ((op.name == "sort" && attrs.integer("num_keys", 1) == 1) || op.name == "top_k")
    return tensor_from(result, naive_sorted(op, operands[0], attrs, result));
  if (op.name.starts_with("dynamic_")) return tensor_from(result, naive_dynamic(op, operands, result));
  if (op.name == "reduce_window") return tensor_from(result, naive_window(operands[0], attrs, result));
  if (op.name.starts_with("select_and_")) return tensor_from(result, naive_choice(op, operands, attrs, result));
  if (op.name == "conv") return tensor_from(result, naive_conv(operands, attrs, result));
  if (op.name == "gather") return tensor_from(result, naive_gather(operands, attrs, result));
  if (op.name.starts_with("scatter")) return tensor_from(result, naive_scatter(op, operands, attrs));
  return std::nullopt;
}

}  // namespace shardlab::testing_ops
