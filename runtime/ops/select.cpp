// select and clamp: elementwise ops of three operands, of which some may be scalars.
#include <algorithm>

#include "runtime/ops/derive.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

struct Select {  // by bits, as a branch would be missed half of the time
  template <std::unsigned_integral T>
  SHARDLAB_INLINE T operator()(bool condition, T x, T y) const {
    const T mask = T(T(0) - T(condition));
    return T((x & mask) | (y & ~mask));
  }
  SHARDLAB_INLINE Complex128 operator()(bool condition, Complex128 x, Complex128 y) const { return condition ? x : y; }
};
struct Clamp {  // NaN stays
  template <typename T>
  SHARDLAB_INLINE T operator()(T low, T x, T high) const {
    T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};

// Choosing looks at the width of elements alone.
TileFn select_tile(std::span<const DType>, DType result) {
  switch (size_of(result)) {
    case 1:
      return tile_of_types<Select, bool, std::uint8_t, std::uint8_t>();
    case 2:
      return tile_of_types<Select, bool, std::uint16_t, std::uint16_t>();
    case 4:
      return tile_of_types<Select, bool, std::uint32_t, std::uint32_t>();
    case 8:
      return best_version<TileLoop<Select, bool, std::uint64_t, std::uint64_t>, const void* const*, const int*, void*, std::int64_t>();
    default:
      return tile_of_types<Select, bool, Complex128, Complex128>();
  }
}
TileFn clamp_tile(std::span<const DType>, DType result) {
  return visit_dtype(result, [](auto x) -> TileFn {
    using T = decltype(x);
    if constexpr (Cplx<T>)
      throw InternalError("clamp of complex numbers");
    else
      return tile_of_types<Clamp, T, T, T>();
  });
}

std::vector<TensorType> infer_select(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  if (types[0].dtype != DType::kBool)
    throw_user_error("{}: the condition is {}, wanted bool; compare it with 0 first", op.name, name_of(types[0].dtype));
  check_same_types(op, {types[1], types[2]});
  if (types[0].rank() != 0 && types[0].shape != types[1].shape)
    throw_user_error("{}: which must be scalar or have the same shape as cases, got {} and {}", op.name, text_of(types[0].shape),
                     text_of(types[1].shape));
  return {types[1]};
}

void check_limits(const OpDef& op, const std::vector<TensorType>& types) {
  for (std::size_t i : {0, 2}) {
    if (types[i].dtype != types[1].dtype)
      throw_user_error("{} requires arguments to have the same dtypes, got {}, {}, {}; convert the limits", op.name,
                       name_of(types[0].dtype), name_of(types[1].dtype), name_of(types[2].dtype));
    if (types[i].rank() != 0 && types[i].shape != types[1].shape)
      throw_user_error("{} got incompatible shapes for broadcasting: {}, {}, {}; limits are scalars or have the operand's shape", op.name,
                       text_of(types[0].shape), text_of(types[1].shape), text_of(types[2].shape));
  }
}

std::vector<TensorType> infer_clamp(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  if (is_complex(types[1].dtype)) {
    std::vector<DType> ordered;
    for (const DTypeInfo& each : all_dtypes())
      if (!is_complex(each.dtype)) ordered.push_back(each.dtype);
    throw_dtype_refused(op, types[1].dtype, ordered);
  }
  check_limits(op, types);
  return {types[1]};
}

// The condition becomes bool, everything is broadcast.
Values expand_select(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  DType dtype = promoted_dtype(b, args.subspan(1));
  ValueId condition = value_of(b, args[0]);
  if (b.type(condition).dtype != DType::kBool) condition = binary(b, kNotEqual, condition, 0.0);
  Shape shape = broadcast_shapes(op.name, {b.shape(condition), shape_of_arg(b, args[1]), shape_of_arg(b, args[2])});
  condition = broadcast_to(b, condition, shape);
  ValueId x = broadcast_to(b, value_of(b, args[1], dtype), shape);
  return b.emit(kSelect, {condition, x, broadcast_to(b, value_of(b, args[2], dtype), shape)});
}

// lax.clamp(low, x, high); scalar limits stay scalars.
Values expand_clamp(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = promoted_dtype(b, args.subspan(1, 1));
  Values values;
  for (const Arg& arg : args) values.push_back(value_of(b, arg, dtype));
  if (is_complex(dtype)) {  // by real parts first
    check_limits(op, {b.type(values[0]), b.type(values[1]), b.type(values[2])});
    auto spread = [&](ValueId limit) { return broadcast_to(b, limit, b.shape(values[1])); };
    return {b.emit1(kMinimum, {b.emit1(kMaximum, {values[1], spread(values[0])}), spread(values[2])})};
  }
  return b.emit(op, values, attrs);
}

// A limit given as an attribute: a whole number does not make floats of integers.
std::optional<Arg> limit_of(const Attrs& attrs, std::string_view name) {
  if (!attrs.has(name)) return std::nullopt;
  const double number = attrs.number(name);
  if (number == std::floor(number) && std::abs(number) < 1e15) return Scalar{std::int64_t(number)};
  return Scalar{number};
}

// jnp.clip(x, low, high) = minimum(maximum(x, low), high); either may be left out.
Values expand_clip(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::optional<Arg> low = limit_of(attrs, "min"), high = limit_of(attrs, "max");
  if (args.size() > 1) low = args[1];
  if (args.size() > 2) high = args[2];
  std::vector<Arg> all{args[0]};
  for (const auto& limit : {low, high})
    if (limit) all.push_back(*limit);
  DType dtype = promoted_dtype(b, all);
  if (is_complex(dtype))
    throw_user_error(
        "{}: Clip received a complex value either through the input or the min/max keywords. Complex values have no ordering and cannot be "
        "clipped. Convert to a real value with real or imag",
        op.name);
  std::vector<Shape> shapes;
  for (const Arg& each : all) shapes.push_back(shape_of_arg(b, each));
  Shape shape = broadcast_shapes(op.name, shapes);
  ValueId x = broadcast_to(b, value_of(b, args[0], dtype), shape);
  if (low) x = b.emit1(kMaximum, {broadcast_to(b, value_of(b, *low, dtype), shape), x});
  return {high ? b.emit1(kMinimum, {broadcast_to(b, value_of(b, *high, dtype), shape), x}) : x};
}

// A mask computed once more, from the indices that it tells of.
ValueId mask_again(GraphBuilder& b, ValueId mask) {
  constexpr const OpDef* kOfMasks[] = {&kBroadcastInDim, &kReduceAnd, &kAnd, &kGreaterEqual, &kLessEqual};
  const Node* node = producer_of(b, mask);
  if (node == nullptr || std::find(std::begin(kOfMasks), std::end(kOfMasks), node->op) == std::end(kOfMasks)) return mask;
  const OpDef& op = *node->op;
  const Attrs attrs = node->attrs;
  Values operands = node->operands;
  for (ValueId& id : operands) id = mask_again(b, id);
  return b.emit1(op, operands, attrs);
}

// What a gather fills has a mask that lies as it does. To JAX that is a part of the gather, so its tangent's has one of its own.
Values select_jvp(GraphBuilder& b, const JvpArgs& args) {
  const TensorType type = b.type(args.results[0]);
  ValueId x = instantiated(b, args.tangents[1], type), condition = args.operands[0];
  const Node* gather = producer_of(b, args.operands[1]);
  if (gather != nullptr && gather->op == &kGather && gather->attrs.flag("is_filled")) condition = mask_again(b, condition);
  return {b.emit1(kSelect, {condition, x, instantiated(b, args.tangents[2], type)})};
}
Values select_transpose(GraphBuilder& b, const TransposeArgs& args) {
  ValueId ct = args.cotangents[0];
  ValueId zeros = filled(b, b.type(ct), 0.0);
  Values found = {kZero, kZero, kZero};
  if (args.operands[1] == kAsked) found[1] = b.emit1(kSelect, {args.operands[0], ct, zeros});
  if (args.operands[2] == kAsked) found[2] = b.emit1(kSelect, {args.operands[0], zeros, ct});
  return found;
}

// Of low, x and high only the one that is the result varies it.
// As JAX has them: where the limits cross, what is below both of them has no derivative along any.
Values clamp_jvp(GraphBuilder& b, const JvpArgs& args) {
  const TensorType type = b.type(args.results[0]);
  Values at;
  for (ValueId operand : args.operands) at.push_back(broadcast_to(b, operand, type.shape));
  ValueId low = at[0], x = at[1], high = at[2], sum = kZero;
  auto where = [&](ValueId condition, ValueId tangent) {
    return b.emit1(kSelect, {condition, broadcast_to(b, tangent, type.shape), filled(b, type, 0.0)});
  };
  auto both = [&](ValueId first, ValueId second) { return b.emit1(kAnd, {first, second}); };
  auto less = [&](ValueId smaller, ValueId larger) { return b.emit1(kLess, {smaller, larger}); };
  auto greater = [&](ValueId larger, ValueId smaller) { return b.emit1(kGreater, {larger, smaller}); };
  if (args.tangents[0] != kZero) sum = add_tangents(b, sum, where(both(greater(low, x), less(low, high)), args.tangents[0]));
  if (args.tangents[1] != kZero) sum = add_tangents(b, sum, where(both(greater(x, low), less(x, high)), args.tangents[1]));
  if (args.tangents[2] != kZero) sum = add_tangents(b, sum, where(less(high, x), args.tangents[2]));
  return {sum};
}

std::vector<Sample> select_samples() {
  std::vector<Sample> samples;
  for (const DTypeInfo& each : all_dtypes())
    for (const Shape& shape : sample_shapes()) samples.push_back({{{DType::kBool, shape}, {each.dtype, shape}, {each.dtype, shape}}, {}});
  samples.push_back({{{DType::kBool, {}}, {DType::kFloat32, {4, 6}}, {DType::kFloat32, {4, 6}}}, {}});
  return samples;
}
std::vector<Sample> clamp_samples() {
  std::vector<Sample> samples;
  for (DType dtype : {DType::kInt32, DType::kUint32, DType::kFloat32})
    for (const Shape& shape : sample_shapes()) {
      samples.push_back({{{dtype, shape}, {dtype, shape}, {dtype, shape}}, {}});
      samples.push_back({{{dtype, {}}, {dtype, shape}, {dtype, {}}}, {}});
    }
  return samples;
}

}  // namespace

const OpDef kSelect = {.name = "select",
                       .doc = "x where the condition holds, else y, as lax.select: args condition, x, y, with broadcasting.",
                       .operands_min = 3,
                       .operands_max = 3,
                       .weakness = Weakness::kOfOthers,
                       .expand = expand_select,
                       .infer = infer_select,
                       .rule = elementwise_rule,
                       .kernel = elementwise_kernel<select_tile>,
                       .tile = select_tile,
                       .elementwise = true,
                       .jvp = select_jvp,
                       .transpose = select_transpose,
                       .samples = select_samples};

const OpDef kClamp = {.name = "clamp",
                      .doc = "x held between limits: args low, x, high; the limits are scalars or have the shape of x.",
                      .operands_min = 3,
                      .operands_max = 3,
                      .expand = expand_clamp,
                      .infer = infer_clamp,
                      .rule = elementwise_rule,
                      .kernel = elementwise_kernel<clamp_tile>,
                      .tile = clamp_tile,
                      .elementwise = true,
                      .jvp = clamp_jvp,
                      .samples = clamp_samples};

constexpr AttrDef kClipAttrs[] = {{"min", AttrDef::Kind::kNumber, false, "the low limit, where it is no operand; none by default"},
                                  {"max", AttrDef::Kind::kNumber, false, "the high one"}};

extern const OpDef kClip;
const OpDef kClip = {.name = "clip",
                     .doc = "x held between limits, with broadcasting: args x, low, high; minimum(maximum(x, low), high).",
                     .operands_min = 1,
                     .operands_max = 3,
                     .attrs = kClipAttrs,
                     .expand = expand_clip,
                     .compiled_alone = true};

}  // namespace shardlab::ops
