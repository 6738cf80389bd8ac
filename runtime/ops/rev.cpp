// rev: reverses dimensions.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

bool is_reversed(const Attrs& attrs, std::size_t d) {
  const auto& dims = attrs.integers("dims");
  return std::find(dims.begin(), dims.end(), std::int64_t(d)) != dims.end();
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const auto& dims = required_integers(op, attrs, "dims");
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0 || dims[i] >= types[0].rank() ||
        std::find(dims.begin(), dims.begin() + std::ptrdiff_t(i), dims[i]) != dims.begin() + std::ptrdiff_t(i))
      throw_user_error("{}: dimensions must be unique and in range of the operand, got {} for shape {}", op.name, text_of(dims),
                       text_of(types[0].shape));
  return {types[0]};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d)
    rule.add(operands[0].shape[std::size_t(d)], {d}, {d}, is_reversed(attrs, std::size_t(d)) ? FactorKind::kPermute : FactorKind::kPass);
  return rule;
}

std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  NeededBox needed{result};
  for (std::size_t d = 0; d < result.size(); ++d)
    if (is_reversed(attrs, d)) needed.box[d] = {operands[0].shape[d] - result[d].stop, operands[0].shape[d] - result[d].start};
  return {needed};
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  if (result.type.elements() == 0) return;
  ConstRegion from{operand.data, 0, strides_of(operand.type.shape)};
  Shape first;
  for (std::size_t d = 0; d < result.type.shape.size(); ++d) {
    std::int64_t start = (*result.box)[d].start;
    bool reversed = is_reversed(args.attrs, d);
    first.push_back(reversed ? (*operand.array)[d] - 1 - start : start);
    if (reversed) from.strides[d] = -from.strides[d];
  }
  from.offset = offset_in(*operand.box, first);
  copy_region(result.type.shape, from, {result.data, 0, strides_of(result.type.shape)}, size_of(result.type.dtype));
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!attrs.has("dims")) throw_user_error("{}: attribute 'dims' is missing", op.name);
  std::vector<int> dims = *axes_of(op.name, attrs, "dims", b.type(x).rank());
  std::sort(dims.begin(), dims.end());
  if (dims.empty()) return {x};
  return b.emit(op, {x}, Attrs{{"dims", integers_of(dims)}});
}

Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) { return b.emit(args.op, {args.cotangents[0]}, args.attrs); }

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  int dim = args.operands[0].dim;
  return {{b.emit1(args.op, {args.operands[0].value}, Attrs{{"dims", dims_in_batch(args.attrs.integers("dims"), dim)}}), dim}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::vector<std::int64_t> dims) {
    return Sample{{{dtype, std::move(shape)}}, Attrs{{"dims", std::move(dims)}}};
  };
  return {sample(DType::kFloat32, {6, 4}, {0}),      sample(DType::kInt32, {2, 6, 4}, {1, 2}), sample(DType::kBool, {4, 6}, {1}),
          sample(DType::kComplex64, {4, 3, 2}, {0}), sample(DType::kFloat32, {7, 4}, {0}),     sample(DType::kFloat32, {4, 0}, {1}),
          sample(DType::kUint32, {1, 4}, {0})};
}

constexpr AttrDef kAttrs[] = {{"dims", AttrDef::Kind::kScalarOrIntegers, true, "the dimensions to reverse"}};

}  // namespace

const OpDef kRev = {.name = "rev",
                    .doc = "Reverses the order of the elements along dimensions.",
                    .attrs = kAttrs,
                    .expand = expand,
                    .infer = infer,
                    .rule = rule,
                    .kernel = kernel,
                    .needs = needs,
                    .uses_position = true,
                    .jvp = linear_jvp,
                    .transpose = transpose_rule,
                    .batch = batch,
                    .samples = samples};

}  // namespace shardlab::ops
