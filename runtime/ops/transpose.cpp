// transpose: permutes the dimensions.
#include "runtime/ops/derive.h"
#include "runtime/ops/strided.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const auto& axes = required_integers(op, attrs, "axes");
  const Shape& shape = types[0].shape;
  std::vector<bool> seen(shape.size(), false);
  bool is_permutation = axes.size() == shape.size();
  Shape result;
  for (std::int64_t axis : axes) {
    if (!is_permutation || axis < 0 || axis >= std::int64_t(shape.size()) || seen[std::size_t(axis)]) {
      is_permutation = false;
      break;
    }
    seen[std::size_t(axis)] = true;
    result.push_back(shape[std::size_t(axis)]);
  }
  if (!is_permutation)
    throw_user_error("{}: axes must be a permutation of the {} dimensions of the operand, got {} for shape {}", op.name, shape.size(),
                     text_of(axes), text_of(shape));
  return {{types[0].dtype, result}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const auto& axes = attrs.integers("axes");
  for (int o = 0; o < results[0].rank(); ++o) rule.add(results[0].shape[std::size_t(o)], {int(axes[std::size_t(o)])}, {o});
  return rule;
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  Shape operand_strides = strides_of(operand.type.shape), strides;
  for (std::int64_t axis : args.attrs.integers("axes")) strides.push_back(operand_strides[std::size_t(axis)]);
  strided_copy(result.type.shape, strides, operand.data, result.data, size_of(result.type.dtype));
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  std::vector<int> axes;
  for (int d = rank; d-- > 0;) axes.push_back(d);
  if (attrs.has("axes")) {
    const std::vector<std::int64_t> given = integer_list_of(attrs, "axes");
    axes.clear();
    for (std::int64_t axis : given) axes.push_back(normalized_axis(op.name, axis, rank));
    std::vector<int> sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    bool is_permutation = int(sorted.size()) == rank && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    if (!is_permutation)
      throw_user_error(
          "transpose permutation isn't a permutation of operand dimensions, got permutation {} for operand shape {}.; name each dimension "
          "once",
          text_of(given), text_of(b.shape(x)));
  }
  return {transposed(b, x, axes)};
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> result(axes.size());
  for (std::size_t d = 0; d < axes.size(); ++d) result[std::size_t(axes[d])] = std::int64_t(d);
  return result;
}

Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  return {b.emit1(kTranspose, {args.cotangents[0]}, Attrs{{"axes", inverse(args.attrs.integers("axes"))}})};
}

// The batch becomes the first dimension of the result.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  std::vector<std::int64_t> axes = dims_in_batch(args.attrs.integers("axes"), args.operands[0].dim);
  axes.insert(axes.begin(), args.operands[0].dim);
  return {{b.emit1(kTranspose, {args.operands[0].value}, Attrs{{"axes", axes}}), 0}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::vector<std::int64_t> axes) {
    return Sample{{{dtype, std::move(shape)}}, Attrs{{"axes", std::move(axes)}}};
  };
  return {sample(DType::kFloat32, {4, 6}, {1, 0}),    sample(DType::kInt32, {2, 3, 4}, {2, 0, 1}),
          sample(DType::kBool, {2, 4, 6}, {0, 2, 1}), sample(DType::kComplex64, {2, 3, 4, 5}, {3, 1, 2, 0}),
          sample(DType::kFloat32, {7}, {0}),          sample(DType::kFloat32, {0, 3}, {1, 0}),
          sample(DType::kFloat32, {34, 18}, {1, 0})};
}

constexpr AttrDef kAttrs[] = {
    {"axes", AttrDef::Kind::kIntegers, false, "the operand's dimension for each of the result; reversed by default"}};
constexpr std::string_view kAliases[] = {"permute_dims"};

}  // namespace

const OpDef kTranspose = {.name = "transpose",
                          .doc = "Permutes the dimensions: dimension d of the result is dimension axes[d] of the operand.",
                          .aliases = kAliases,
                          .attrs = kAttrs,
                          .expand = expand,
                          .infer = infer,
                          .rule = rule,
                          .kernel = kernel,
                          .copies = true,
                          .pass_through = true,
                          .jvp = linear_jvp,
                          .transpose = transpose_rule,
                          .batch = batch,
                          .samples = samples};

}  // namespace shardlab::ops
