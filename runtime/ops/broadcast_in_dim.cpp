// broadcast_in_dim: places the operand's dimensions among the result's and repeats along the others.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/strided.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const Shape& shape = required_integers(op, attrs, "shape");
  const auto& dims = required_integers(op, attrs, "dims");
  const TensorType& operand = types[0];
  check_shape(op.name, shape);
  if (int(dims.size()) != operand.rank())
    throw_user_error("{}: broadcast_dimensions must have length equal to operand ndim; got broadcast_dimensions={} for operand {}", op.name,
                     text_of(dims), operand.text());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= std::int64_t(shape.size()) || (i > 0 && dims[i] <= dims[i - 1]))
      throw_user_error("{}: broadcast_dimensions must be strictly increasing dimensions of the output, got {} for output shape {}", op.name,
                       text_of(dims), text_of(shape));
    std::int64_t size = shape[std::size_t(dims[i])];
    if (operand.shape[i] != 1 && operand.shape[i] != size)
      throw_user_error(
          "{}: operand dimension sizes must either be 1, or be equal to their corresponding dimensions in the target "
          "broadcast shape; got operand of shape {}, target broadcast shape {}, broadcast_dimensions {}",
          op.name, text_of(operand.shape), text_of(shape), text_of(dims));
  }
  return {{operand.dtype, shape}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const auto& dims = attrs.integers("dims");
  for (int o = 0; o < results[0].rank(); ++o) {
    int from = -1;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == o) from = int(i);
    if (from >= 0 && operands[0].shape[std::size_t(from)] == 1 && results[0].shape[std::size_t(o)] != 1) {
      rule.add(1, {from}, {-1});
      from = -1;
    }
    rule.add(results[0].shape[std::size_t(o)], {from}, {o});
  }
  return rule;
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  const auto& dims = args.attrs.integers("dims");
  Shape operand_strides = strides_of(operand.type.shape);
  Shape strides(result.type.shape.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (operand.type.shape[i] != 1) strides[std::size_t(dims[i])] = operand_strides[i];
  strided_copy(result.type.shape, strides, operand.data, result.data, size_of(result.type.dtype));
}

// The sum over the dimensions that were repeated.
Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  const auto& dims = args.attrs.integers("dims");
  const Shape& from = args.operand_types[0].shape;
  const Shape& to = args.attrs.integers("shape");
  std::vector<std::int64_t> repeated;
  for (std::int64_t d = 0; d < std::int64_t(to.size()); ++d) {
    auto found = std::find(dims.begin(), dims.end(), d);
    if (found == dims.end() || (from[std::size_t(found - dims.begin())] == 1 && to[std::size_t(d)] != 1)) repeated.push_back(d);
  }
  ValueId sum = args.cotangents[0];
  if (!repeated.empty()) sum = b.emit1(kReduceSum, {sum}, Attrs{{"axes", repeated}});
  return {reshaped(b, sum, from)};
}

// The batch becomes the first dimension.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  ValueId x = batched_at(b, args.operands[0], 0, args.size);
  Shape shape = args.attrs.integers("shape");
  shape.insert(shape.begin(), args.size);
  std::vector<std::int64_t> dims = dims_in_batch(args.attrs.integers("dims"), 0);
  dims.insert(dims.begin(), 0);
  return {{b.emit1(kBroadcastInDim, {x}, Attrs{{"shape", shape}, {"dims", dims}}), 0}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape from, Shape to, std::vector<std::int64_t> dims) {
    return Sample{{{dtype, std::move(from)}}, Attrs{{"shape", std::move(to)}, {"dims", std::move(dims)}}};
  };
  return {sample(DType::kFloat32, {}, {4, 6}, {}),         sample(DType::kFloat32, {6}, {4, 6}, {1}),
          sample(DType::kInt32, {4}, {4, 6}, {0}),         sample(DType::kFloat32, {4, 1}, {4, 6}, {0, 1}),
          sample(DType::kBool, {2, 4}, {2, 3, 4}, {0, 2}), sample(DType::kComplex64, {7}, {7}, {0}),
          sample(DType::kFloat32, {1, 1}, {2, 3}, {0, 1})};
}

constexpr AttrDef kAttrs[] = {{"shape", AttrDef::Kind::kIntegers, true, "the shape of the result"},
                              {"dims", AttrDef::Kind::kIntegers, true, "for each dimension of the operand, the result's that it becomes"}};

}  // namespace

const OpDef kBroadcastInDim = {
    .name = "broadcast_in_dim",
    .doc = "The operand's dimensions become dimensions `dims` of the result; those of size 1 and the new ones repeat.",
    .attrs = kAttrs,
    .expand = expand_plain,
    .infer = infer,
    .rule = rule,
    .kernel = kernel,
    .backward_first = true,
    .folds = true,
    .broadcasts = true,
    .jvp = linear_jvp,
    .transpose = transpose_rule,
    .batch = batch,
    .samples = samples};

}  // namespace shardlab::ops
