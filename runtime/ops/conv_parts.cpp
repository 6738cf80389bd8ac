// A convolution whose kernel is cut along its window (the gradient by the kernel, where images are cut) as one convolution over all parts.
#include "runtime/ops/conv_dims.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/moves.h"

namespace shardlab::ops {
namespace {

// The operand's part that each part of the window looks at, one after another along the features: they overlap, so that devices exchange
// what is beside their own.
ValueId overlapping_parts(GraphBuilder& b, ValueId lhs, const ConvDims& dims, std::size_t i, const ConvWindow& window, std::int64_t results,
                          std::int64_t parts) {
  int dim = int(dims.lhs[i + 2]);
  std::int64_t elements = (b.shape(lhs)[std::size_t(dim)] - 1) * window.lhs_dilation + 1;
  std::int64_t step = window.size * window.rhs_dilation;
  std::int64_t length = (window.size - 1) * window.rhs_dilation + (results - 1) * window.stride + 1;
  std::vector<std::int64_t> padding(3 * b.shape(lhs).size(), 0);
  padding[std::size_t(3 * dim)] = window.low;
  padding[std::size_t(3 * dim + 1)] = (parts - 1) * step + length - window.low - elements;
  padding[std::size_t(3 * dim + 2)] = window.lhs_dilation - 1;
  ValueId padded = b.emit1(kPad, {lhs, scalar_constant(b, b.type(lhs).dtype, 0.0)}, Attrs{{"padding", padding}});
  Values pieces;
  for (std::int64_t p = 0; p < parts; ++p) pieces.push_back(slice_in_dim(b, padded, dim, {p * step, p * step + length}));
  return joined(b, pieces, int(dims.lhs[1]));
}

// The kernel's parts one after another along one of its features; the last is filled up with zeros.
ValueId kernel_parts(GraphBuilder& b, ValueId rhs, int window, int features, std::int64_t size, std::int64_t parts) {
  Shape shape = b.shape(rhs);
  std::vector<std::int64_t> padding(3 * shape.size(), 0);
  padding[std::size_t(3 * window + 1)] = parts * size - shape[std::size_t(window)];
  if (padding[std::size_t(3 * window + 1)] > 0)
    rhs = b.emit1(kPad, {rhs, scalar_constant(b, b.type(rhs).dtype, 0.0)}, Attrs{{"padding", padding}});
  Shape split = shape, merged = shape;
  split[std::size_t(window)] = size;
  split.insert(split.begin() + window, parts);
  merged[std::size_t(window)] = size;
  merged[std::size_t(features)] *= parts;
  std::vector<int> axes;
  for (int d = 0; d < int(shape.size()); ++d) {
    if (d == features) axes.push_back(window);
    axes.push_back(d < window ? d : d + 1);
  }
  return reshaped(b, transposed(b, reshaped(b, rhs, split), axes), merged);
}

}  // namespace

std::vector<ValueId> conv_in_parts(GraphBuilder& b, const std::vector<ValueId>& operands, const Attrs& attrs, int factor,
                                   std::int64_t parts) {
  ConvDims dims(attrs);
  if (dims.batch_groups > 1) --factor;
  std::size_t i = std::size_t(factor - 2) / 2;
  if (factor < 2 || factor % 2 != 0 || i >= dims.spatial()) return {};  // only the factors of windows, see the rule
  const TensorType lhs = b.type(operands[0]), rhs = b.type(operands[1]);
  ConvWindow window = dims.window(i, rhs.shape);
  std::int64_t results = window.results(lhs.shape[std::size_t(dims.lhs[i + 2])]);
  if (lhs.elements() == 0 || rhs.elements() == 0 || results == 0) return {};
  window.size = (window.size + parts - 1) / parts;
  ValueId images = overlapping_parts(b, operands[0], dims, i, window, results, parts);
  // Parts are summed as features are. Where these have groups, each part is one more of them, and the sum comes after.
  const bool is_sum = dims.groups == 1;
  ValueId kernels = kernel_parts(b, operands[1], int(dims.rhs[i + 2]), int(dims.rhs[is_sum ? 1 : 0]), window.size, parts);
  ConvDims own = dims;
  own.padding[2 * i] = own.padding[2 * i + 1] = 0;
  own.lhs_dilation[i] = 1;
  if (!is_sum) own.groups *= parts;
  Attrs own_attrs;
  own.set(own_attrs);
  ValueId product = b.emit1(kConv, {images, kernels}, own_attrs);
  if (is_sum) return {product};
  Shape split = b.shape(product);
  std::int64_t features = dims.out[1];
  split[std::size_t(features)] /= parts;
  split.insert(split.begin() + features, parts);
  return {b.emit1(kReduceSum, {reshaped(b, product, split)}, Attrs{{"axes", std::vector<std::int64_t>{features}}})};
}

}  // namespace shardlab::ops
