// take, take_along_axis, dynamic_index_in_dim: elements at computed places, as jax.numpy lowers them to gather.
#include <algorithm>
#include <limits>

#include "runtime/ops/gather_dims.h"
#include "runtime/ops/moves.h"

namespace shardlab::ops {
namespace {

enum class OutOfBounds { kFill, kClip, kWrap };

OutOfBounds mode_of(const OpDef& op, const Attrs& attrs) {
  if (!attrs.has("mode")) return OutOfBounds::kFill;
  const std::string& mode = attrs.string("mode");
  if (mode == "fill") return OutOfBounds::kFill;
  if (mode == "clip") return OutOfBounds::kClip;
  if (mode == "wrap") return OutOfBounds::kWrap;
  throw_user_error("{}: Invalid mode '{}' for np.take; use fill, clip or wrap", op.name, mode);
}

ValueId integer_indices(GraphBuilder& b, const OpDef& op, const Arg& arg) {
  ValueId indices = value_of(b, arg);
  if (!is_integer(b.type(indices).dtype))
    throw_user_error("{}: indices must have an integer type, got {}; convert them with astype", op.name, b.type(indices).text());
  return indices;
}

// Negative ones count from the end.
ValueId normalised(GraphBuilder& b, ValueId indices, std::int64_t size) {
  ValueId is_negative = binary(b, kLess, indices, 0.0);
  return b.emit1(kSelect, {is_negative, binary(b, kAdd, indices, double(size)), indices});
}

// JAX's value of an element that does not exist: NaN, the least of signed and the greatest of unsigned integers, true.
ValueId fill_value(GraphBuilder& b, const TensorType& type) {
  if (type.dtype == DType::kBool) return filled(b, type, 1.0);
  if (!is_integer(type.dtype)) return filled(b, type, std::numeric_limits<double>::quiet_NaN());
  if (is_unsigned_integer(type.dtype)) return unary(b, kNot, filled(b, type, 0.0));
  std::int64_t least = visit_dtype(type.dtype, []<typename T>(T) -> std::int64_t {
    if constexpr (std::is_integral_v<T>) return std::int64_t(std::numeric_limits<T>::min());
    return 0;
  });
  return filled(b, type, Scalar{least});
}

struct Gather {
  GatherDims dims;
  std::vector<std::int64_t> sizes;
};

// The gathered, and where an index vector leaves the operand, the fill value: a mask over index vectors, spread over windows.
ValueId gathered(GraphBuilder& b, ValueId x, ValueId indices, const Gather& gather, OutOfBounds mode, const Attrs& given) {
  Attrs attrs{{"slice_sizes", gather.sizes}};
  gather.dims.set(attrs);
  TensorType index_type = b.type(indices);
  std::optional<ValueId> is_inside;
  if (mode == OutOfBounds::kFill) {
    ValueId above = b.emit1(kGreaterEqual, {indices, filled(b, index_type, 0.0)});
    std::size_t d = std::size_t(gather.dims.index_map.at(0));
    double last = double(b.shape(x)[d] - gather.sizes[d]);
    ValueId below = b.emit1(kLessEqual, {indices, filled(b, index_type, last)});
    is_inside = b.emit1(kReduceAnd, {b.emit1(kAnd, {above, below})}, Attrs{{"axes", std::vector<std::int64_t>{index_type.rank() - 1}}});
  }
  TensorType type;
  if (mode == OutOfBounds::kWrap) attrs.set("is_masked", true);  // all lie within
  if (!is_inside) return b.emit1(kGather, {x, indices}, attrs);
  type = kGather.infer(kGather, {b.type(x), index_type}, attrs)[0];
  ValueId mask = *is_inside;
  if (b.shape(mask) != type.shape)
    mask = b.emit1(kBroadcastInDim, {mask}, Attrs{{"shape", type.shape}, {"dims", integers_of(gather.dims.batch_dims(type.rank()))}});
  attrs.set("is_masked", true).set("is_filled", true);  // what lies out of bounds is replaced, by a mask right behind
  ValueId value = b.emit1(kGather, {x, indices}, attrs);
  ValueId fill = given.has("fill_value") ? filled(b, type, given.number("fill_value")) : fill_value(b, type);
  return b.emit1(kSelect, {mask, value, fill});
}

Values expand_take(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]), indices = integer_indices(b, op, args[1]);
  OutOfBounds mode = mode_of(op, attrs);
  if (!attrs.has("axis")) x = reshaped(b, x, {b.type(x).elements()});
  int rank = b.type(x).rank(), axis = normalized_axis(op.name, attrs.integer("axis", 0), rank), index_rank = b.type(indices).rank();
  Shape shape = b.shape(x), index_shape = b.shape(indices);
  std::int64_t size = shape[std::size_t(axis)];
  if (size == 0 && element_count(index_shape) > 0)
    throw_user_error("{}: Cannot do a non-empty jnp.take() from an empty axis: dimension {} of shape {}", op.name, axis, text_of(shape));
  if (element_count(index_shape) == 0) {
    Shape result(shape.begin(), shape.begin() + axis);
    result.insert(result.end(), index_shape.begin(), index_shape.end());
    result.insert(result.end(), shape.begin() + axis + 1, shape.end());
    return {filled(b, {b.type(x).dtype, result}, 0.0)};
  }
  if (mode == OutOfBounds::kFill) indices = normalised(b, indices, size);
  if (mode == OutOfBounds::kWrap) indices = binary(b, kRemainder, indices, double(size));
  Gather gather{{}, shape};
  gather.sizes[std::size_t(axis)] = 1;
  gather.dims.collapsed = gather.dims.index_map = {axis};
  for (int d = 0; d + 1 < rank; ++d) gather.dims.offset.push_back(d < axis ? d : d + index_rank);
  index_shape.push_back(1);
  return {gathered(b, x, reshaped(b, indices, index_shape), gather, mode, attrs)};
}

// Where indices and operand both have a dimension they go along it together; where the indices have size 1 the operand's is taken whole.
Values expand_take_along_axis(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]), indices = integer_indices(b, op, args[1]);
  OutOfBounds mode = mode_of(op, attrs);
  if (attrs.flag("flatten")) x = reshaped(b, x, {b.type(x).elements()});
  int rank = b.type(x).rank();
  if (b.type(indices).rank() != rank)
    throw_user_error("{}: indices and arr must have the same number of dimensions; {} vs. {}", op.name, b.type(indices).rank(), rank);
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), rank);
  Shape shape = b.shape(x), index_shape = b.shape(indices), kept = shape;
  kept[std::size_t(axis)] = 1;
  Shape result = broadcast_shapes(op.name, {index_shape, kept});
  std::int64_t size = shape[std::size_t(axis)];
  if (size == 0) return {filled(b, {b.type(x).dtype, result}, 0.0)};
  indices = mode == OutOfBounds::kWrap ? binary(b, kRemainder, indices, double(size)) : normalised(b, indices, size);
  Gather gather;
  Shape gather_shape, squeezed;
  for (int d = 0; d < rank; ++d) {
    std::size_t i = std::size_t(d);
    std::int64_t place = std::int64_t(squeezed.size()), batch = std::int64_t(gather_shape.size());
    if (d == axis) {
      gather.sizes.push_back(1);
      gather.dims.index_map.push_back(place);
      gather.dims.collapsed.push_back(place);
    } else if (index_shape[i] == 1) {
      gather.dims.offset.push_back(d);
      gather.sizes.push_back(shape[i]);
    } else if (shape[i] != 1) {
      gather.sizes.push_back(shape[i] == 0 ? 0 : 1);
      gather.dims.operand_batching.push_back(place);
      gather.dims.indices_batching.push_back(batch);
    }
    if (d == axis || index_shape[i] == 1 || shape[i] != 1) squeezed.push_back(shape[i]);
    if (d == axis || index_shape[i] != 1) gather_shape.push_back(result[i]);
  }
  gather_shape.push_back(1);
  return {gathered(b, reshaped(b, x, squeezed), reshaped(b, indices, gather_shape), gather, mode, attrs)};
}

Values expand_dynamic_index(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank());
  Shape sizes = b.shape(x);
  sizes[std::size_t(axis)] = 1;
  std::vector<Arg> operands{x};
  for (int d = 0; d < b.type(x).rank(); ++d) operands.push_back(d == axis ? args[1] : Arg{Scalar{std::int64_t(0)}});
  ValueId result = b.call(kDynamicSlice, operands, Attrs{{"sizes", sizes}}, Where{}).at(0);
  if (attrs.flag("keepdims", true)) return {result};
  sizes.erase(sizes.begin() + axis);
  return {reshaped(b, result, sizes)};
}

Values expand_dynamic_update_index(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank());
  ValueId update = value_of(b, args[1], b.type(x).dtype);
  if (b.type(update).rank() + 1 == b.type(x).rank()) {
    Shape shape = b.shape(update);
    shape.insert(shape.begin() + axis, 1);
    update = reshaped(b, update, shape);
  }
  std::vector<Arg> operands{x, update};
  for (int d = 0; d < b.type(x).rank(); ++d) operands.push_back(d == axis ? args[2] : Arg{Scalar{std::int64_t(0)}});
  return b.call(kDynamicUpdateSlice, operands, {}, Where{});
}

constexpr AttrDef kMode = {"mode", AttrDef::Kind::kString, false, "for indices out of bounds: fill (NaN; by default), clip or wrap"};
constexpr AttrDef kFill = {"fill_value", AttrDef::Kind::kNumber, false, "what stands for elements out of bounds; NaN by default"};
constexpr AttrDef kTakeAttrs[] = {
    {"axis", AttrDef::Kind::kInteger, false, "along which; over all elements in order by default"}, kMode, kFill};
constexpr AttrDef kAlongAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "along which; the last by default"},
                                   {"flatten", AttrDef::Kind::kFlag, false, "whether over all elements in order, as NumPy's axis None"},
                                   kMode,
                                   kFill};
constexpr AttrDef kIndexAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "along which; 0 by default"},
                                   {"keepdims", AttrDef::Kind::kFlag, false, "whether the dimension stays, with size 1; true by default"}};
constexpr AttrDef kUpdateAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "along which; 0 by default"}};

}  // namespace

extern const OpDef kTake, kTakeAlongAxis, kDynamicIndexInDim, kDynamicUpdateIndexInDim;

const OpDef kTake = {.name = "take",
                     .doc = "Elements at indices along a dimension: args [x, indices]. Negative indices count from the end.",
                     .operands_min = 2,
                     .operands_max = 2,
                     .attrs = kTakeAttrs,
                     .weakness = Weakness::kOfFirst,
                     .expand = expand_take,
                     .compiled_alone = true};
const OpDef kTakeAlongAxis = {.name = "take_along_axis",
                              .doc = "Elements at indices along a dimension, where each row has its own: args [x, indices].",
                              .operands_min = 2,
                              .operands_max = 2,
                              .attrs = kAlongAttrs,
                              .weakness = Weakness::kOfFirst,
                              .expand = expand_take_along_axis,
                              .compiled_alone = true};
const OpDef kDynamicIndexInDim = {.name = "dynamic_index_in_dim",
                                  .doc = "One index of a dimension: args [x, index].",
                                  .operands_min = 2,
                                  .operands_max = 2,
                                  .attrs = kIndexAttrs,
                                  .weakness = Weakness::kOfFirst,
                                  .expand = expand_dynamic_index};
const OpDef kDynamicUpdateIndexInDim = {.name = "dynamic_update_index_in_dim",
                                        .doc = "The operand with one index of a dimension replaced: args [x, update, index].",
                                        .operands_min = 3,
                                        .operands_max = 3,
                                        .attrs = kUpdateAttrs,
                                        .weakness = Weakness::kNever,
                                        .expand = expand_dynamic_update_index};

}  // namespace shardlab::ops
