// slice: every stride-th index of each dimension, from a start to a limit.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

// The attribute "stride", which may be left out, as one number a dimension.
std::vector<std::int64_t> strides_in(const Attrs& attrs, std::size_t rank) {
  return attrs.has("stride") ? attrs.integers("stride") : std::vector<std::int64_t>(rank, 1);
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const Shape& shape = types[0].shape;
  const auto& start = required_integers(op, attrs, "start");
  const auto& limit = required_integers(op, attrs, "limit");
  if (attrs.has("stride")) required_integers(op, attrs, "stride");
  const std::vector<std::int64_t> stride = strides_in(attrs, shape.size());
  for (auto [name, list] : {std::pair("start", &start), std::pair("limit", &limit), std::pair("stride", &stride)})
    if (list->size() != shape.size())
      throw_user_error("{}: {} must have one entry for each dimension of the operand, got {} for operand shape {}", op.name, name,
                       text_of(*list), text_of(shape));
  Shape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (start[d] < 0 || limit[d] > shape[d])
      throw_user_error(
          "{}: start and limit must lie within the operand: slice limit_indices must be less than or equal to operand shape, got start {} "
          "and limit {} for operand shape {}",
          op.name, text_of(start), text_of(limit), text_of(shape));
    if (limit[d] < start[d])
      throw_user_error("{}: limit_indices must be greater than or equal to start_indices, got start {} and limit {}", op.name,
                       text_of(start), text_of(limit));
    if (stride[d] < 1) throw_user_error("{}: strides must be positive, got {}; reverse with flip", op.name, text_of(stride));
    result.push_back((limit[d] - start[d] + stride[d] - 1) / stride[d]);
  }
  return {{types[0].dtype, result}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d) {
    std::int64_t size = operands[0].shape[std::size_t(d)];
    rule.add(size, {d}, {d}, size == results[0].shape[std::size_t(d)] ? FactorKind::kPass : FactorKind::kPermute);
  }
  return rule;
}

std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  const auto& start = attrs.integers("start");
  std::vector<std::int64_t> stride = strides_in(attrs, operands[0].shape.size());
  NeededBox needed{.step = stride};
  for (std::size_t d = 0; d < result.size(); ++d)
    needed.box.push_back(result[d].size() == 0
                             ? Interval{}
                             : Interval{start[d] + result[d].start * stride[d], start[d] + (result[d].stop - 1) * stride[d] + 1});
  return {needed};
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  if (result.type.elements() == 0) return;
  const auto& start = args.attrs.integers("start");
  std::vector<std::int64_t> stride = strides_in(args.attrs, start.size());
  ConstRegion from{operand.data, 0, strides_of(operand.type.shape)};
  Shape first;
  for (std::size_t d = 0; d < start.size(); ++d) {
    first.push_back(start[d] + (*result.box)[d].start * stride[d]);
    from.strides[d] *= stride[d];
  }
  from.offset = offset_in(*operand.box, first);
  copy_region(result.type.shape, from, {result.data, 0, strides_of(result.type.shape)}, size_of(result.type.dtype));
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  Attrs full;
  for (std::string_view name : {"start", "limit", "stride"})
    if (attrs.has(name)) full.set(name, integer_list_of(attrs, name));
  if (full.has("stride")) {
    const auto& stride = full.integers("stride");
    if (std::all_of(stride.begin(), stride.end(), [](std::int64_t step) { return step == 1; })) {
      Attrs plain;
      for (std::string_view name : {"start", "limit"})
        if (full.has(name)) plain.set(name, full.integers(name));
      full = plain;
    }
  }
  return b.emit(op, {x}, full);
}

// Back to its places, zeros elsewhere.
Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  const Shape& shape = args.operand_types[0].shape;
  ValueId cotangent = args.cotangents[0];
  if (args.attrs.flag("is_dynamic")) {  // a dynamic_slice with constant starts, whose derivative is an update in JAX
    Values operands{filled(b, args.operand_types[0], 0.0), cotangent};
    for (std::int64_t start : args.attrs.integers("start")) operands.push_back(scalar_constant(b, DType::kInt32, double(start)));
    return {b.emit1(kDynamicUpdateSlice, operands)};
  }
  std::vector<std::int64_t> stride = strides_in(args.attrs, shape.size()), padding;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t size = b.shape(cotangent)[d], low = args.attrs.integers("start")[d];
    const std::int64_t end = size == 0 ? low : low + (size - 1) * stride[d] + 1;
    padding.insert(padding.end(), {low, shape[d] - end, stride[d] - 1});
  }
  return {b.emit1(kPad, {cotangent, scalar_constant(b, b.type(cotangent).dtype, 0.0)}, Attrs{{"padding", padding}})};
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  int dim = args.operands[0].dim;
  Attrs attrs;
  for (auto [name, whole] : {std::pair("start", std::int64_t(0)), std::pair("limit", args.size), std::pair("stride", std::int64_t(1))}) {
    if (!args.attrs.has(name)) continue;
    std::vector<std::int64_t> list = args.attrs.integers(name);
    list.insert(list.begin() + dim, whole);
    attrs.set(name, list);
  }
  return {{b.emit1(args.op, {args.operands[0].value}, attrs), dim}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::vector<std::int64_t> start, std::vector<std::int64_t> limit,
                   std::vector<std::int64_t> stride = {}) {
    Attrs attrs{{"start", std::move(start)}, {"limit", std::move(limit)}};
    if (!stride.empty()) attrs.set("stride", std::move(stride));
    return Sample{{{dtype, std::move(shape)}}, attrs};
  };
  return {sample(DType::kFloat32, {8, 6}, {2, 0}, {6, 6}),
          sample(DType::kInt32, {9, 4}, {1, 0}, {9, 4}, {3, 1}),
          sample(DType::kBool, {4, 6, 5}, {0, 1, 0}, {4, 6, 5}, {1, 2, 4}),
          sample(DType::kComplex64, {4, 7}, {0, 6}, {4, 7}),
          sample(DType::kFloat32, {6, 4}, {3, 0}, {3, 4}),
          sample(DType::kFloat32, {0, 4}, {0, 0}, {0, 4}),
          sample(DType::kUint32, {}, {}, {})};
}

constexpr AttrDef kAttrs[] = {{"start", AttrDef::Kind::kScalarOrIntegers, true, "the first index, one for each dimension"},
                              {"limit", AttrDef::Kind::kScalarOrIntegers, true, "the index before which each dimension ends"},
                              {"stride", AttrDef::Kind::kScalarOrIntegers, false, "the step of each dimension; 1 by default"}};

}  // namespace

const OpDef kSlice = {.name = "slice",
                      .doc = "The indices start, start + stride … below limit of each dimension.",
                      .attrs = kAttrs,
                      .expand = expand,
                      .infer = infer,
                      .rule = rule,
                      .kernel = kernel,
                      .needs = needs,
                      .uses_position = true,
                      .folds = true,
                      .jvp = linear_jvp,
                      .transpose = transpose_rule,
                      .batch = batch,
                      .samples = samples};

}  // namespace shardlab::ops
