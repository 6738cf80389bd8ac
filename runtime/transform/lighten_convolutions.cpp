// Convolutions whose window is larger than what it slides over.
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

}  // namespace shardlab::transform
