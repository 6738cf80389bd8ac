// concatenate: arrays joined along one dimension.
#include "runtime/ops/derive.h"
#include "runtime/ops/moves.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

std::string shapes_text(const std::vector<TensorType>& types) {
  std::string text;
  for (const TensorType& type : types) text += (text.empty() ? "" : ", ") + text_of(type.shape);
  return text;
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (types.empty()) throw_user_error("{}: need at least one array to concatenate", op.name);
  if (!attrs.has("axis")) throw_user_error("{}: attribute 'axis' is missing", op.name);
  std::int64_t axis = attrs.integer("axis");
  if (axis < 0 || axis >= types[0].rank())
    throw_user_error("{}: axis {} is out of bounds for array of dimension {}", op.name, axis, types[0].rank());
  TensorType result = types[0];
  for (std::size_t i = 1; i < types.size(); ++i) {
    bool fits = types[i].rank() == types[0].rank() && types[i].dtype == types[0].dtype;
    for (std::size_t d = 0; fits && d < result.shape.size(); ++d) fits = std::int64_t(d) == axis || types[i].shape[d] == result.shape[d];
    if (types[i].rank() != types[0].rank())
      throw_user_error("Cannot concatenate arrays with different numbers of dimensions: got {}. (Operands 0 and {}; reshape one)",
                       shapes_text(types), i);
    if (!fits)
      throw_user_error(
          "Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: concatenating along "
          "dimension {} for shapes {}. (Operand 0 is {}, operand {} is {}; reshape or slice one of them)",
          axis, shapes_text(types), types[0].text(), i, types[i].text());
    result.shape[std::size_t(axis)] += types[i].shape[std::size_t(axis)];
  }
  check_shape(op.name, result.shape);
  return {result};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  for (int d = 0; d < results[0].rank(); ++d)
    rule.add(results[0].shape[std::size_t(d)], std::vector<int>(operands.size(), d), {d},
             d == attrs.integer("axis") ? FactorKind::kReplicate : FactorKind::kPass);
  return rule;
}

// The indices of the result that an operand fills, whose first is at `offset`.
Interval filled_by(const Interval& result, std::int64_t offset, std::int64_t size) {
  Interval both{std::max(result.start, offset), std::min(result.stop, offset + size)};
  return both.size() == 0 ? Interval{} : both;
}

std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  std::size_t axis = std::size_t(attrs.integer("axis"));
  std::vector<NeededBox> needed;
  std::int64_t offset = 0;
  for (const TensorType& operand : operands) {
    NeededBox& own = needed.emplace_back(NeededBox{result});
    Interval filled = filled_by(result[axis], offset, operand.shape[axis]);
    own.box[axis] = filled.size() == 0 ? Interval{} : Interval{filled.start - offset, filled.stop - offset};
    offset += operand.shape[axis];
  }
  return needed;
}

void kernel(const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  std::int64_t offset = 0;
  for (const ConstView& operand : args.operands) {
    Interval filled = filled_by((*result.box)[axis], offset, (*operand.array)[axis]);
    Shape shape = result.type.shape, first, first_place;
    shape[axis] = filled.size();
    for (const Interval& interval : *result.box) first.push_back(interval.start);
    first_place = first;
    first_place[axis] = filled.start;
    first[axis] = filled.start - offset;
    if (element_count(shape) > 0)
      copy_region(shape, {operand.data, offset_in(*operand.box, first), strides_of(operand.type.shape)},
                  {result.data, offset_in(*result.box, first_place), strides_of(result.type.shape)}, size_of(result.type.dtype));
    offset += (*operand.array)[axis];
  }
}

// jax.numpy.concatenate; axis null (absent is 0) is not told from 0 here: ravel first.
Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Values operands;
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : promoted_dtype(b, args);
  for (const Arg& arg : args) {
    if (std::holds_alternative<Scalar>(arg))
      throw_user_error("{}: Zero-dimensional arrays cannot be concatenated; use stack or give them a dimension", op.name);
    operands.push_back(value_of(b, arg, dtype));
    if (b.type(operands.back()).rank() == 0)
      throw_user_error("{}: Zero-dimensional arrays cannot be concatenated; use stack or give them a dimension", op.name);
  }
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), b.type(operands[0]).rank());
  if (operands.size() == 1) return operands;
  return b.emit(op, operands, Attrs{{"axis", std::int64_t(axis)}});
}

Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  int axis = int(args.attrs.integer("axis"));
  std::int64_t offset = 0;
  Values results;
  for (std::size_t i = 0; i < args.operands.size(); ++i) {
    std::int64_t size = args.operand_types[i].shape[std::size_t(axis)];
    bool is_asked = args.operands[i] == kAsked;
    results.push_back(is_asked ? slice_in_dim(b, args.cotangents[0], axis, {offset, offset + size}) : kZero);
    offset += size;
  }
  return results;
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  Values operands;
  for (const Batched& x : args.operands) operands.push_back(batched_at(b, x, 0, args.size));
  return {{b.emit1(args.op, operands, Attrs{{"axis", args.attrs.integer("axis") + 1}}), 0}};
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, std::vector<Shape> shapes, std::int64_t axis) {
    Sample result{{}, Attrs{{"axis", axis}}};
    for (Shape& shape : shapes) result.operands.push_back({dtype, std::move(shape)});
    return result;
  };
  return {sample(DType::kFloat32, {{4, 6}, {2, 6}}, 0),    sample(DType::kInt32, {{4, 6}, {4, 1}, {4, 3}}, 1),
          sample(DType::kBool, {{2, 3, 4}, {2, 3, 4}}, 1), sample(DType::kComplex64, {{4, 0}, {4, 2}}, 1),
          sample(DType::kFloat32, {{7}, {5}}, 0),          sample(DType::kUint32, {{4, 2}, {4, 2}}, 0)};
}

constexpr std::string_view kAliases[] = {"concat"};
constexpr AttrDef kAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "the dimension along which they are joined; 0 by default"},
                              {"dtype", AttrDef::Kind::kDType, false, "the dtype of the result; what they promote to by default"}};

}  // namespace

const OpDef kConcatenate = {.name = "concatenate",
                            .doc = "Arrays of equal shape but for one dimension, joined along it. Dtypes are promoted.",
                            .aliases = kAliases,
                            .operands_min = 1,
                            .operands_max = -1,
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
