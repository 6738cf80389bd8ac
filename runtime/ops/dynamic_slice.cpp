// dynamic_slice, dynamic_update_slice: a box whose start is computed, read or written.
#include <algorithm>
#include <cstring>

#include "runtime/ops/gather_rules.h"
#include "runtime/ops/index_values.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

void check_starts(const OpDef& op, const std::vector<TensorType>& types, std::size_t first) {
  if (types.size() - first != types[0].shape.size())
    throw_user_error("{}: start_indices must have one scalar for each dimension of the operand, got {} for operand shape {}", op.name,
                     types.size() - first, text_of(types[0].shape));
  for (std::size_t i = first; i < types.size(); ++i)
    if (types[i].rank() != 0 || !is_integer(types[i].dtype))
      throw_user_error("{}: start indices must be scalar integers, got {} for dimension {}", op.name, types[i].text(), i - first);
}

// The starts, moved so that a box of `sizes` lies within an array of `shape`.
Shape starts_of(const KernelArgs& args, std::size_t first, const Shape& shape, const Shape& sizes) {
  Shape starts;
  for (std::size_t d = 0; d < shape.size(); ++d)
    starts.push_back(std::clamp<std::int64_t>(index_value(args.operands[first + d], 0), 0, shape[d] - sizes[d]));
  return starts;
}

std::vector<TensorType> infer_slice(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const auto& sizes = required_integers(op, attrs, "sizes");
  check_starts(op, types, 1);
  const Shape& shape = types[0].shape;
  bool fits = sizes.size() == shape.size();
  for (std::size_t d = 0; fits && d < sizes.size(); ++d) fits = sizes[d] >= 0 && sizes[d] <= shape[d];
  if (!fits)
    throw_user_error(
        "{}: slice slice_sizes must be nonnegative and less than or equal to operand shape, got slice_sizes {} for operand shape {}.",
        op.name, text_of(sizes), text_of(shape));
  return {{types[0].dtype, sizes}};
}

FactorRule rule_slice(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d) {
    std::int64_t size = operands[0].shape[std::size_t(d)];
    bool is_kept = size == results[0].shape[std::size_t(d)];
    rule.add(size, {d}, {d}, is_kept ? FactorKind::kPass : FactorKind::kReplicate, !is_kept);
  }
  return rule;
}

void kernel_slice(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  if (result.type.elements() == 0) return;
  Shape first = starts_of(args, 1, *operand.array, args.attrs.integers("sizes"));
  for (std::size_t d = 0; d < first.size(); ++d) first[d] += (*result.box)[d].start;
  copy_region(result.type.shape, {operand.data, offset_in(*operand.box, first), strides_of(operand.type.shape)},
              {result.data, 0, strides_of(result.type.shape)}, size_of(result.type.dtype));
}

const std::int64_t* number_of(const Arg& arg) {
  const Scalar* scalar = std::get_if<Scalar>(&arg);
  return scalar ? std::get_if<std::int64_t>(&scalar->value) : nullptr;
}

// A start as jax.lax takes it: negative ones count from the end.
ValueId wrapped_start(GraphBuilder& b, const Arg& arg, std::int64_t size) {
  if (const std::int64_t* number = number_of(arg)) return value_of(b, Scalar{*number < 0 ? *number + size : *number});
  ValueId start = value_of(b, arg);
  if (b.type(start).rank() == 1 && b.type(start).elements() == 1) start = reshaped(b, start, {});
  if (b.type(start).rank() != 0 || !is_integer(b.type(start).dtype)) return start;
  ValueId is_negative = binary(b, kLess, start, 0.0);
  return b.emit1(kSelect, {is_negative, binary(b, kAdd, start, double(size)), start});
}

std::optional<std::int64_t> constant_start(const Arg& arg, std::int64_t size, std::int64_t wanted) {
  const std::int64_t* value = number_of(arg);
  if (value == nullptr) return std::nullopt;
  return std::clamp<std::int64_t>(*value < 0 ? *value + size : *value, 0, std::max<std::int64_t>(size - wanted, 0));
}

// With constant starts alone it is a slice, but for its derivative.
Values expand_slice(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!attrs.has("sizes")) throw_user_error("{}: attribute 'sizes' is missing", op.name);
  Shape sizes = integer_list_of(attrs, "sizes"), shape = b.shape(x), start, limit;
  if (args.size() - 1 == shape.size() && sizes.size() == shape.size()) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      auto at = constant_start(args[d + 1], shape[d], sizes[d]);
      if (!at || sizes[d] < 0 || sizes[d] > shape[d]) break;
      start.push_back(*at);
      limit.push_back(*at + sizes[d]);
    }
    if (start.size() == shape.size()) return {b.emit1(kSlice, {x}, Attrs{{"start", start}, {"limit", limit}, {"is_dynamic", true}})};
  }
  Values operands{x};
  for (std::size_t d = 0; d + 1 < args.size(); ++d) operands.push_back(wrapped_start(b, args[d + 1], d < shape.size() ? shape[d] : 0));
  return b.emit(op, operands, Attrs{{"sizes", sizes}});
}

std::vector<TensorType> infer_update(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  check_starts(op, types, 2);
  bool fits = types[1].rank() == types[0].rank();
  for (std::size_t d = 0; fits && d < types[0].shape.size(); ++d) fits = types[1].shape[d] <= types[0].shape[d];
  if (!fits)
    throw_user_error("{}: update shape must be smaller than operand shape, got update shape {} for operand shape {}", op.name,
                     text_of(types[1].shape), text_of(types[0].shape));
  if (types[1].dtype != types[0].dtype)
    throw_user_error("{} requires arguments to have the same dtypes, got {} and {}; convert one of them", op.name, name_of(types[0].dtype),
                     name_of(types[1].dtype));
  return {types[0]};
}

FactorRule rule_update(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d) {
    std::int64_t size = operands[0].shape[std::size_t(d)], own = operands[1].shape[std::size_t(d)];
    rule.add(size, {d, own == size ? d : -1}, {d});
    if (own != size) rule.add(own, {-1, d}, {});
  }
  return rule;
}

// A part of the operand takes what of the whole update falls into it.
void kernel_update(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const ConstView& update = args.operands[1];
  const MutableView& result = args.results[0];
  std::memcpy(result.data, operand.data, std::size_t(result.type.bytes()));
  Shape starts = starts_of(args, 2, *operand.array, *update.array);
  Box written;
  Shape first, first_update;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    Interval own = (*update.box)[d], part = (*result.box)[d];
    written.push_back({std::max(part.start, starts[d] + own.start), std::min(part.stop, starts[d] + own.stop)});
    first.push_back(written[d].start);
    first_update.push_back(written[d].start - starts[d]);
  }
  if (element_count(written) == 0) return;
  copy_region(shape_of(written), {update.data, offset_in(*update.box, first_update), strides_of(update.type.shape)},
              {result.data, offset_in(*result.box, first), strides_of(result.type.shape)}, size_of(result.type.dtype));
}

Values expand_update(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  Shape shape = b.shape(x);
  Values operands{x, value_of(b, args[1], std::holds_alternative<Scalar>(args[1]) ? b.type(x).dtype : dtype_of_arg(b, args[1]))};
  for (std::size_t d = 0; d + 2 < args.size(); ++d) {
    std::int64_t size = d < shape.size() ? shape[d] : 0;
    const Arg& start = args[d + 2];
    if (auto at = constant_start(start, size, 0))
      operands.push_back(scalar_constant(b, DType::kInt32, double(*at)));
    else
      operands.push_back(wrapped_start(b, start, size));
  }
  return b.emit(op, operands);
}

std::vector<Sample> slice_samples() {
  auto sample = [](DType dtype, Shape shape, std::vector<std::int64_t> sizes) {
    Sample result{{{dtype, shape}}, Attrs{{"sizes", std::move(sizes)}}};
    for (std::size_t d = 0; d < shape.size(); ++d) result.operands.push_back({DType::kInt32, {}});
    return result;
  };
  return {sample(DType::kFloat32, {6, 4}, {3, 4}), sample(DType::kInt32, {4, 6, 2}, {4, 2, 1}), sample(DType::kBool, {6, 4}, {6, 0}),
          sample(DType::kComplex64, {4, 3}, {4, 3})};
}

std::vector<Sample> update_samples() {
  auto sample = [](DType dtype, Shape shape, Shape update) {
    Sample result{{{dtype, shape}, {dtype, std::move(update)}}, {}};
    for (std::size_t d = 0; d < shape.size(); ++d) result.operands.push_back({DType::kInt32, {}});
    return result;
  };
  return {sample(DType::kFloat32, {6, 4}, {3, 4}), sample(DType::kInt32, {4, 6, 2}, {1, 5, 2}), sample(DType::kBool, {6, 4}, {6, 0}),
          sample(DType::kComplex64, {4, 3}, {4, 3})};
}

constexpr AttrDef kSliceAttrs[] = {{"sizes", AttrDef::Kind::kScalarOrIntegers, true, "the size of each dimension of the result"}};

}  // namespace

const OpDef kDynamicSlice = {.name = "dynamic_slice",
                             .doc =
                                 "A box of the operand: args [x, start of each dimension]. Negative starts count from the end; then "
                                 "starts are moved so that the box lies within the operand.",
                             .operands_min = 1,
                             .operands_max = -1,
                             .attrs = kSliceAttrs,
                             .weakness = Weakness::kOfFirst,
                             .expand = expand_slice,
                             .infer = infer_slice,
                             .rule = rule_slice,
                             .kernel = kernel_slice,
                             .copies = true,
                             .uses_position = true,
                             .forward_first = true,
                             .jvp = dynamic_slice_jvp,
                             .transpose = dynamic_slice_transpose,
                             .batch = dynamic_slice_batch,
                             .samples = slice_samples};
const OpDef kDynamicUpdateSlice = {.name = "dynamic_update_slice",
                                   .doc =
                                       "The operand with a box of it replaced: args [x, update, start of each dimension]. Starts are as "
                                       "in dynamic_slice.",
                                   .operands_min = 2,
                                   .operands_max = -1,
                                   .weakness = Weakness::kNever,
                                   .expand = expand_update,
                                   .infer = infer_update,
                                   .rule = rule_update,
                                   .kernel = kernel_update,
                                   .uses_position = true,
                                   .forward_first = true,
                                   .jvp = dynamic_update_slice_jvp,
                                   .transpose = dynamic_update_slice_transpose,
                                   .batch = dynamic_update_slice_batch,
                                   .samples = update_samples};

}  // namespace shardlab::ops
