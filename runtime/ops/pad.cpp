// pad: values before, after and between the elements of each dimension; negative padding cuts.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/pad_modes.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

struct Padding {
  std::int64_t low, high, interior;
  // The index of the result where element i lands.
  std::int64_t place(std::int64_t i) const { return low + i * (interior + 1); }
  // The elements, of `size` there are, that land in an interval of the result.
  Interval elements_in(const Interval& result, std::int64_t size) const {
    std::int64_t step = interior + 1;
    auto first_at = [&](std::int64_t index) {  // the first element that lands at the index or after it
      std::int64_t from = index - low;
      return from <= 0 ? 0 : std::min(size, (from + step - 1) / step);
    };
    Interval elements{first_at(result.start), first_at(result.stop)};
    return elements.size() == 0 || result.size() == 0 ? Interval{} : elements;
  }
};

// Attribute "padding": low, high, interior of each dimension, one after another.
Padding padding_of(const Attrs& attrs, std::size_t d) {
  const auto& all = attrs.integers("padding");
  return {all[3 * d], all[3 * d + 1], all[3 * d + 2]};
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const auto& padding = required_integers(op, attrs, "padding");
  const Shape& shape = types[0].shape;
  if (types[1].rank() != 0 || types[1].dtype != types[0].dtype)
    throw_user_error("{}: padding_value must be a scalar of the operand's dtype, got {} for {}", op.name, types[1].text(), types[0].text());
  if (padding.size() != 3 * shape.size())
    throw_user_error("{}: padding_config must have [low, high, interior] for each dimension of the operand, got {} numbers for shape {}",
                     op.name, padding.size(), text_of(shape));
  Shape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Padding p = padding_of(attrs, d);
    for (std::int64_t number : {p.low, p.high, p.interior})
      if (number < -kElementsMax || number > kElementsMax)
        throw_user_error("{}: the padding {} of dimension {} is beyond any array; use less", op.name, number, d);
    if (p.interior < 0)
      throw_user_error("{}: interior padding in padding_config must be nonnegative, got {} in dimension {}", op.name, p.interior, d);
    if (p.interior > 0 && shape[d] > kElementsMax / (p.interior + 1))
      throw_user_error("{}: dimension {} would have more than {} elements; use less padding", op.name, d, kElementsMax);
    std::int64_t size = p.low + p.high + shape[d] + std::max<std::int64_t>(shape[d] - 1, 0) * p.interior;
    if (size < 0)
      throw_user_error(
          "{}: dimension size after padding is not at least 0, got result dimension {} of size {} from shape {} and padding {}", op.name, d,
          size, text_of(shape), text_of(padding));
    result.push_back(size);
  }
  check_shape(op.name, result);
  return {{types[0].dtype, result}};
}

// Shardy passes a dimension through wherever its size is kept; but padding that cuts as much as it adds shifts the elements, so here
// it counts as a permutation.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d) {
    Padding p = padding_of(attrs, std::size_t(d));
    bool is_kept = p.low == 0 && operands[0].shape[std::size_t(d)] == results[0].shape[std::size_t(d)];
    rule.add(operands[0].shape[std::size_t(d)], {d, -1}, {d}, is_kept ? FactorKind::kPass : FactorKind::kPermute);
  }
  return rule;
}

std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  NeededBox needed;
  for (std::size_t d = 0; d < result.size(); ++d) needed.box.push_back(padding_of(attrs, d).elements_in(result[d], operands[0].shape[d]));
  return {needed, {}};
}

void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  std::int64_t item = size_of(result.type.dtype);
  fill_elements(result.data, args.operands[1].data, result.type.elements(), item);
  Shape shape, first, first_place;
  ConstRegion from{operand.data, 0, strides_of(operand.type.shape)};
  MutableRegion to{result.data, 0, strides_of(result.type.shape)};
  for (std::size_t d = 0; d < result.type.shape.size(); ++d) {
    Padding p = padding_of(args.attrs, d);
    Interval elements = p.elements_in((*result.box)[d], (*operand.array)[d]);
    shape.push_back(elements.size());
    first.push_back(elements.start);
    first_place.push_back(p.place(elements.start));
    to.strides[d] *= p.interior + 1;
  }
  if (element_count(shape) == 0) return;
  from.offset = offset_in(*operand.box, first);
  to.offset = offset_in(*result.box, first_place);
  copy_region(shape, from, to, item);
}

// jax.lax.pad: the padding value is operand 1, or the attribute "value", or 0. With `pad_width` it is jax.numpy.pad.
Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (attrs.has("pad_width")) return {padded_by_mode(b, op, x, attrs)};
  if (!attrs.has("padding")) throw_user_error("{}: attribute 'padding' is missing; or give 'pad_width'", op.name);
  DType dtype = b.type(x).dtype;
  double value = attrs.has("value") ? attrs.number("value") : 0.0;
  ValueId padding = args.size() > 1 ? value_of(b, args[1], dtype) : scalar_constant(b, dtype, value);
  return b.emit(op, {x, padding}, Attrs{{"padding", integer_list_of(attrs, "padding")}});
}

// The elements from their places; what fell on padding belongs to the padding value.
Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  ValueId cotangent = args.cotangents[0];
  const Shape& shape = args.operand_types[0].shape;
  ValueId none = scalar_constant(b, b.type(cotangent).dtype, 0.0);
  std::vector<std::int64_t> cut, all;
  Shape stride;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Padding p = padding_of(args.attrs, d);
    cut.insert(cut.end(), {-p.low, -p.high, 0});
    stride.push_back(p.interior + 1);
    all.push_back(std::int64_t(d));
  }
  ValueId elements = kZero;
  if (element_count(shape) > 0) {
    elements = b.emit1(kPad, {cotangent, none}, Attrs{{"padding", cut}});
    if (std::any_of(stride.begin(), stride.end(), [](std::int64_t step) { return step != 1; }))
      elements = b.emit1(kSlice, {elements}, Attrs{{"start", Shape(shape.size(), 0)}, {"limit", b.shape(elements)}, {"stride", stride}});
  }
  Values results{args.operands[0] == kAsked ? elements : kZero, kZero};
  if (args.operands[1] == kAsked) {
    results[1] = b.emit1(kReduceSum, {cotangent}, Attrs{{"axes", all}});
    if (elements != kZero) results[1] = b.emit1(kSub, {results[1], b.emit1(kReduceSum, {elements}, Attrs{{"axes", all}})});
  }
  return results;
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  const Batched& value = args.operands[1];
  ValueId x = batched_at(b, args.operands[0], 0, args.size);
  std::vector<std::int64_t> padding = args.attrs.integers("padding");
  padding.insert(padding.begin(), 3, 0);
  Attrs attrs{{"padding", padding}};
  if (value.dim == kNotBatched) return {{b.emit1(kPad, {x, value.value}, attrs), 0}};
  // A value for each element of the batch, wherever a mask that is padded alike shows padding.
  TensorType type = b.type(x);
  ValueId is_element = b.emit1(kPad, {filled(b, {DType::kBool, type.shape}, 1.0), scalar_constant(b, DType::kBool, 0.0)}, attrs);
  ValueId padded = b.emit1(kPad, {x, scalar_constant(b, type.dtype, 0.0)}, attrs);
  ValueId values = b.emit1(kBroadcastInDim, {value.value}, Attrs{{"shape", b.shape(padded)}, {"dims", std::vector<std::int64_t>{0}}});
  return {{b.emit1(kSelect, {is_element, padded, values}), 0}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, std::vector<std::int64_t> padding) {
    return Sample{{{dtype, std::move(shape)}, {dtype, {}}}, Attrs{{"padding", std::move(padding)}}};
  };
  return {sample(DType::kFloat32, {4, 6}, {2, 1, 0, 0, 0, 0}),           sample(DType::kInt32, {4, 6}, {0, 0, 0, 1, 2, 2}),
          sample(DType::kBool, {2, 6, 4}, {0, 0, 0, -2, 1, 0, 0, 0, 0}), sample(DType::kComplex64, {6, 4}, {-3, -4, 2, 0, 0, 0}),
          sample(DType::kFloat32, {6, 4}, {2, -2, 0, 0, 0, 0}),          sample(DType::kFloat32, {0, 4}, {3, 1, 2, 0, 0, 0}),
          sample(DType::kUint32, {5, 2}, {-3, -2, 0, 0, 0, 0}),          sample(DType::kFloat32, {1, 4}, {1, 1, 3, 0, 0, 0})};
}

constexpr AttrDef kAttrs[] = {
    {"padding", AttrDef::Kind::kIntegerLists, false, "[low, high, interior] for each dimension; low and high may be negative"},
    {"pad_width", AttrDef::Kind::kIntegerLists, false, "or as in jax.numpy: [low, high] for each dimension, or one pair for all"},
    {"mode", AttrDef::Kind::kString, false,
     "with pad_width: constant (default), empty, edge, linear_ramp, wrap, reflect, symmetric, maximum, minimum, mean or median"},
    {"constant_values", AttrDef::Kind::kNumber, false, "with pad_width: as value"},
    {"value", AttrDef::Kind::kNumber, false, "the padding, where it is no operand; 0 by default"}};

}  // namespace

const OpDef kPad = {.name = "pad",
                    .doc = "Puts a value before, after and between the elements of each dimension; negative padding cuts: args [x, value].",
                    .operands_min = 1,
                    .operands_max = 2,
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
                    .samples = samples,
                    .compiled_alone = true};

}  // namespace shardlab::ops
