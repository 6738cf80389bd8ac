// Convolutions whose window is as large as what it slides over, or larger, and those that only copy their windows.
#include <algorithm>

#include "runtime/ops/conv_dims.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/lighten_rules.h"

namespace shardlab::transform {
namespace {

// Batch (or output feature) and feature exchanged.
std::vector<std::int64_t> exchanged(std::vector<std::int64_t> spec) {
  std::swap(spec[0], spec[1]);
  return spec;
}

std::int64_t dilated(std::int64_t size, std::int64_t dilation) { return 1 + (size - 1) * dilation; }

std::int64_t spatial_elements(const Shape& shape, const std::vector<std::int64_t>& spec) {
  std::int64_t elements = 1;
  for (std::size_t i = 2; i < spec.size(); ++i) elements *= shape[std::size_t(spec[i])];
  return elements;
}

ValueId mirrored(LightEmitter& e, ValueId id, const std::vector<std::int64_t>& spec) {
  const std::vector<std::int64_t> dims(spec.begin() + 2, spec.end());
  return e.emit(ops::kRev, {id}, Attrs{{"dims", dims}}, e.lies_as(id));
}

}  // namespace

// The operand's elements as the window, mirrored, over the kernel, mirrored: dilation and padding change places. Source: XLA, which does so
// in as many cases.
std::optional<ValueId> with_smaller_window(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kConv) return std::nullopt;
  const ops::ConvDims dims(site.node.attrs);
  const ValueId lhs = site.operands[0], rhs = site.operands[1];
  const Shape &operand = e.type(lhs).shape, &kernel = e.type(rhs).shape;
  const std::int64_t seen = spatial_elements(operand, dims.lhs);
  if (dims.groups != 1 || dims.batch_groups != 1 || seen == 0 || spatial_elements(kernel, dims.rhs) <= seen) return std::nullopt;
  ops::ConvDims other = dims;
  std::swap(other.lhs, other.rhs);
  std::swap(other.lhs_dilation, other.rhs_dilation);
  other.out = exchanged(dims.out);
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    const std::int64_t longer = dilated(operand[std::size_t(dims.lhs[i + 2])], dims.lhs_dilation[i]) -
                                dilated(kernel[std::size_t(dims.rhs[i + 2])], dims.rhs_dilation[i]);
    for (std::size_t side : {0, 1}) other.padding[2 * i + side] += longer;
  }
  Attrs attrs;
  other.set(attrs);
  return e.emit(ops::kConv, {mirrored(e, rhs, dims.rhs), mirrored(e, lhs, dims.lhs)}, attrs, e.like(site.node.results[0]));
}

std::optional<ValueId> multiplied_in_one_window(LightEmitter& e, const LightSite& site) {
  if (site.node.op != &ops::kConv) return std::nullopt;
  const ops::ConvDims dims(site.node.attrs);
  const Shape operand = e.type(site.operands[0]).shape, kernel = e.type(site.operands[1]).shape;
  const std::int64_t features = operand[std::size_t(dims.lhs[1])], made = kernel[std::size_t(dims.rhs[0])];
  const bool is_by_feature = dims.groups > 1 && dims.groups == features && dims.groups == made;
  if (dims.batch_groups != 1 || (dims.groups != 1 && !is_by_feature) || dims.spatial() == 0) return std::nullopt;
  std::vector<std::int64_t> contract, of_kernel;
  if (!is_by_feature) {
    contract.push_back(dims.lhs[1]);
    of_kernel.push_back(dims.rhs[1]);
  }
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    const ops::ConvWindow window = dims.window(i, kernel);
    const std::int64_t elements = operand[std::size_t(dims.lhs[i + 2])];
    if (window.size != elements || window.low != 0 || window.high != 0 || window.lhs_dilation != 1 || window.rhs_dilation != 1)
      return std::nullopt;
    contract.push_back(dims.lhs[i + 2]);
    of_kernel.push_back(dims.rhs[i + 2]);
  }
  contract.insert(contract.end(), of_kernel.begin(), of_kernel.end());
  std::vector<std::int64_t> batch;
  if (is_by_feature) batch = {dims.lhs[1], dims.rhs[0]};
  // [feature, batch, 1], or [batch, feature]
  const ValueId result = site.node.results[0];
  const int at_batch = int(dims.out[0]), at_feature = int(dims.out[1]);
  const std::vector<int> lies = is_by_feature ? std::vector{at_feature, at_batch, -1} : std::vector{at_batch, at_feature};
  ValueId product =
      e.emit(ops::kDotGeneral, site.operands, Attrs{{"contract", contract}, {"batch", batch}}, LightEmitter::like(result, lies));
  if (is_by_feature == (at_batch < at_feature)) {
    std::vector<std::int64_t> axes{1, 0};
    std::vector<int> turned{lies[1], lies[0]};
    if (is_by_feature) {
      axes.push_back(2);
      turned.push_back(-1);
    }
    product = e.emit(ops::kTranspose, {product}, Attrs{{"axes", axes}}, LightEmitter::like(result, turned));
  }
  return e.emit(ops::kReshape, {product}, Attrs{{"shape", e.type_of_original(result).shape}}, e.like(result));
}

std::optional<ValueId> copied_in_windows(LightEmitter& e, const LightSite& site) {
  const Node& node = site.node;
  if (node.op != &ops::kConv || !node.attrs.flag("copies_windows")) return std::nullopt;
  const ops::ConvDims dims(node.attrs);
  const std::size_t rank = dims.lhs.size();
  const Shape kernel = e.type(site.operands[1]).shape;
  std::vector<std::int64_t> padding(rank * 3, 0);
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    const std::size_t at = std::size_t(dims.lhs[i + 2]) * 3;
    padding[at] = dims.padding[2 * i];
    padding[at + 1] = dims.padding[2 * i + 1];
    padding[at + 2] = dims.lhs_dilation[i] - 1;
  }
  ValueId windows = site.operands[0];
  LiesAs lies = e.lies_as(windows);
  if (lies.value < 0) lies.dims.assign(rank, -1);
  if (std::any_of(padding.begin(), padding.end(), [](std::int64_t size) { return size != 0; }))
    windows = e.emit(ops::kPad, {windows, e.filled({e.type(windows).dtype, {}}, 0)}, Attrs{{"padding", padding}}, lies);
  // [batch, features, spatial dimensions in lhs's order, elements of the window]
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    lies.dims.push_back(-1);
    windows = e.emit(ops::kSlidingWindows, {windows},
                     Attrs{{"dimension", dims.lhs[i + 2]},
                           {"size", kernel[std::size_t(dims.rhs[i + 2])]},
                           {"stride", dims.strides[i]},
                           {"dilation", dims.rhs_dilation[i]}},
                     lies);
  }
  // Each of lhs's dimensions where the result has it; those of the window follow the features.
  std::vector<std::int64_t> order;
  LiesAs turned{lies.value, {}};
  for (std::size_t place = 0; place < rank; ++place) {
    const std::size_t role = std::size_t(std::find(dims.out.begin(), dims.out.end(), std::int64_t(place)) - dims.out.begin());
    order.push_back(dims.lhs[role]);
    for (std::size_t i = 0; role == 1 && i < dims.spatial(); ++i) order.push_back(std::int64_t(rank + i));
  }
  for (std::int64_t d : order) turned.dims.push_back(lies.dims[std::size_t(d)]);
  windows = e.emit(ops::kTranspose, {windows}, Attrs{{"axes", order}}, turned);
  return e.emit(ops::kReshape, {windows}, Attrs{{"shape", e.type_of_original(node.results[0]).shape}}, e.like(node.results[0]));
}

}  // namespace shardlab::transform
