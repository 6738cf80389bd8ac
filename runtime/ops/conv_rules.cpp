#include "runtime/ops/conv_rules.h"

#include "runtime/ops/conv_dims.h"
#include "runtime/ops/moves.h"

namespace shardlab::ops {

namespace {

std::int64_t dilated(std::int64_t size, std::int64_t dilation) { return size == 0 ? 0 : (size - 1) * dilation + 1; }

// Batch (or output feature) and feature exchanged.
std::vector<std::int64_t> exchanged(std::vector<std::int64_t> spec) {
  std::swap(spec[0], spec[1]);
  return spec;
}

// The sizes of one spatial dimension, dilated as the convolution sees them.
struct Extent {
  std::int64_t lhs, rhs, out;
  Extent(const ConvDims& dims, std::size_t i, const Shape& l, const Shape& r, const Shape& o)
      : lhs(dilated(l[std::size_t(dims.lhs[i + 2])], dims.lhs_dilation[i])),
        rhs(dilated(r[std::size_t(dims.rhs[i + 2])], dims.rhs_dilation[i])),
        out(dilated(o[std::size_t(dims.out[i + 2])], dims.strides[i])) {}
};

ValueId convolved(GraphBuilder& b, ValueId lhs, ValueId rhs, const ConvDims& dims) {
  Attrs attrs;
  dims.set(attrs);
  return b.emit1(kConv, {lhs, rhs}, attrs);
}

// The cotangent convolved with the mirrored kernel; strides become dilation of what is convolved and back.
// Source: the transposition in Dumoulin and Visin, A guide to convolution arithmetic (1603.07285).
ValueId lhs_cotangent(GraphBuilder& b, ValueId out, ValueId rhs, const ConvDims& dims, const Shape& lhs_shape) {
  ConvDims back = dims;
  back.lhs = dims.out;
  back.rhs = exchanged(dims.rhs);
  back.out = dims.lhs;
  back.strides = dims.lhs_dilation;
  back.lhs_dilation = dims.strides;
  back.groups = dims.output_groups();
  back.batch_groups = 1;
  std::vector<int> spatial;
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    Extent extent(dims, i, lhs_shape, b.shape(rhs), b.shape(out));
    std::int64_t low = extent.rhs - dims.padding[2 * i] - 1;
    back.padding[2 * i] = low;
    back.padding[2 * i + 1] = extent.lhs + extent.rhs - 1 - extent.out - low;
    spatial.push_back(int(dims.rhs[i + 2]));
  }
  return convolved(b, out, reversed(b, rhs, spatial), back);
}

// The operand convolved with the cotangent, over the batch in place of features: groups of the one are groups of the other.
ValueId rhs_cotangent(GraphBuilder& b, ValueId lhs, ValueId out, const ConvDims& dims, const Shape& rhs_shape) {
  ConvDims back = dims;
  back.lhs = exchanged(dims.lhs);
  back.rhs = exchanged(dims.out);
  back.out = exchanged(dims.rhs);
  back.strides = dims.rhs_dilation;
  back.rhs_dilation = dims.strides;
  std::swap(back.groups, back.batch_groups);
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    Extent extent(dims, i, b.shape(lhs), rhs_shape, b.shape(out));
    back.padding[2 * i + 1] = extent.out + extent.rhs - extent.lhs - 1 - dims.padding[2 * i];
  }
  return convolved(b, lhs, out, back);
}

// The batch as the major part of one of the element's dimensions.
ValueId merged(GraphBuilder& b, const Batched& x, std::int64_t into) {
  ValueId moved = moved_dim(b, x.value, x.dim, int(into));
  Shape shape = b.shape(moved);
  std::size_t d = std::size_t(into);
  shape[d + 1] *= shape[d];
  shape.erase(shape.begin() + into);
  return reshaped(b, moved, shape);
}

Batched parted(GraphBuilder& b, ValueId x, std::int64_t dim, std::int64_t size) {
  Shape shape = b.shape(x);
  shape[std::size_t(dim)] /= size;
  shape.insert(shape.begin() + dim, size);
  return {reshaped(b, x, shape), int(dim)};
}

// The groups of a dimension as the major part of another.
ValueId with_groups_in(GraphBuilder& b, ValueId x, std::int64_t from, std::int64_t into, std::int64_t groups) {
  return groups == 1 ? x : merged(b, parted(b, x, from, groups), into);
}

// As merged, but below the groups of that dimension.
ValueId merged_in_groups(GraphBuilder& b, const Batched& x, std::int64_t into, std::int64_t groups) {
  if (groups == 1) return merged(b, x, into);
  ValueId moved = parted(b, moved_dim(b, x.value, x.dim, int(into)), into + 1, groups).value;  // batch, groups, what each holds
  return merged(b, {merged(b, {moved, int(into)}, into + 1), int(into)}, into);
}

// As parted, with groups above the batch.
Batched parted_in_groups(GraphBuilder& b, ValueId x, std::int64_t dim, std::int64_t size, std::int64_t groups) {
  if (groups == 1) return parted(b, x, dim, size);
  ValueId apart = parted(b, parted(b, x, dim, groups).value, dim + 1, size).value;  // groups, batch, what each holds
  return {merged(b, {apart, int(dim)}, dim + 1), int(dim)};
}

// Of no elements the type alone is known.
Batched empty_batch(GraphBuilder& b, const BatchArgs& args) {
  std::vector<TensorType> types;
  for (const Batched& operand : args.operands) {
    types.push_back(b.type(operand.value));
    if (operand.dim != kNotBatched) types.back().shape.erase(types.back().shape.begin() + operand.dim);
  }
  TensorType result = args.op.infer(args.op, types, args.attrs)[0];
  result.shape.insert(result.shape.begin(), 0);
  return {filled(b, result, 0.0), 0};
}

}  // namespace

// Groups stay groups: those of the kernel's output features become those of its input features.
// Source: _conv_general_dilated_transpose_lhs and _rhs of JAX.
Values conv_transpose(GraphBuilder& b, const TransposeArgs& args) {
  ConvDims dims(args.attrs);
  ValueId out = args.cotangents[0];
  if (args.operand_types[0].elements() == 0 || args.operand_types[1].elements() == 0 || b.type(out).elements() == 0) return {kZero, kZero};
  if (args.operands[0] == kAsked) {
    ValueId rhs = with_groups_in(b, args.operands[1], dims.rhs[0], dims.rhs[1], dims.output_groups());
    ValueId lhs = lhs_cotangent(b, out, rhs, dims, args.operand_types[0].shape);
    return {with_groups_in(b, lhs, dims.lhs[1], dims.lhs[0], dims.batch_groups), kZero};
  }
  return {kZero, rhs_cotangent(b, args.operands[0], out, dims, args.operand_types[1].shape)};
}

// A batch of operands is more of their own batch, one of kernels more output features, and of both more groups; groups stay above it.
// Source: _conv_general_dilated_batch_rule of JAX.
std::vector<Batched> conv_batch(GraphBuilder& b, const BatchArgs& args) {
  Batched lhs = args.operands[0], rhs = args.operands[1];
  ConvDims dims(args.attrs);
  if (args.size == 0) return {empty_batch(b, args)};
  if (rhs.dim == kNotBatched) {
    ValueId images = merged_in_groups(b, lhs, dims.lhs[0], dims.batch_groups);
    return {parted(b, convolved(b, images, rhs.value, dims), dims.out[0], args.size)};
  }
  if (lhs.dim == kNotBatched) {
    ValueId kernels = merged_in_groups(b, rhs, dims.rhs[0], dims.output_groups());
    return {parted_in_groups(b, convolved(b, lhs.value, kernels, dims), dims.out[1], args.size, dims.output_groups())};
  }
  const bool in_batch = dims.batch_groups > 1;
  (in_batch ? dims.batch_groups : dims.groups) *= args.size;
  ValueId images = merged(b, lhs, dims.lhs[in_batch ? 0 : 1]);
  return {parted(b, convolved(b, images, merged(b, rhs, dims.rhs[0]), dims), dims.out[1], args.size)};
}

}  // namespace shardlab::ops
