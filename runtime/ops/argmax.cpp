// argmax, argmin: the index of the first largest or smallest element along one dimension.
#include <limits>

#include "runtime/ops/derive.h"
#include "runtime/ops/gather_dims.h"

namespace shardlab::ops {
namespace {

template <typename T>
bool is_nan(T x) {
  return x != x;
}
template <typename T>
bool is_less(T a, T b) {
  if constexpr (requires { a.real(); })
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
  else
    return a < b;
}

// Whether `a` beats the best so far: NaN beats all numbers, and of equals the first stays.
template <bool kLargest, typename T>
bool beats(T a, T best) {
  if (is_nan(best)) return false;
  return is_nan(a) || (kLargest ? is_less(best, a) : is_less(a, best));
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (!attrs.has("axis")) throw_user_error("{}: attribute 'axis' is missing", op.name);
  std::int64_t axis = attrs.integer("axis");
  if (axis < 0 || axis >= types[0].rank())
    throw_user_error("{}: axis {} is out of bounds for array of shape {}", op.name, axis, text_of(types[0].shape));
  Shape shape = types[0].shape;
  if (shape[std::size_t(axis)] == 0)
    throw_user_error("attempt to get {} of an empty sequence: dimension {} of shape {} is 0", op.name, axis, text_of(shape));
  shape.erase(shape.begin() + axis);
  return {{DType::kInt32, shape}};
}

// As of the reduction of pairs (element, index) that it is.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  int next = 0;
  for (int d = 0; d < operands[0].rank(); ++d) {
    bool reduces = d == attrs.integer("axis");
    rule.add(operands[0].shape[std::size_t(d)], {d}, {reduces ? -1 : next++}, reduces ? FactorKind::kReduce : FactorKind::kPass);
  }
  return rule;
}

template <bool kLargest>
void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  const Shape& shape = operand.type.shape;
  std::int64_t inner = 1, outer = 1, count = shape[axis];
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::int32_t* out = args.results[0].as<std::int32_t>();
  visit_dtype(operand.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t o = 0; o < outer; ++o) {
      const T* rows = operand.as<T>() + o * count * inner;
      for (std::int64_t i = 0; i < inner; ++i) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < count; ++k)
          if (beats<kLargest>(rows[k * inner + i], rows[best * inner + i])) best = k;
        out[o * inner + i] = std::int32_t(best);
      }
    }
  });
}

// Each part's best first, then the best of these: of equals it is in the first part.
template <const OpDef* kSelf>
Values in_parts(GraphBuilder& b, const Values& operands, const Attrs& attrs, int factor, std::int64_t parts) {
  const std::int64_t axis = attrs.integer("axis");
  if (factor != axis) return {};
  const Shape shape = b.shape(operands[0]);
  const std::int64_t size = shape[std::size_t(axis)], part = size / parts;
  if (parts < 2 || size % parts != 0 || part == 1) return {};
  Shape blocks = shape, bests = shape, single, only = shape;
  blocks[std::size_t(axis)] = part;
  blocks.insert(blocks.begin() + axis, parts);
  bests[std::size_t(axis)] = parts;
  single = blocks;
  single[std::size_t(axis) + 1] = 1;
  only[std::size_t(axis)] = 1;
  const ValueId x = reshaped(b, operands[0], blocks);
  const ValueId places = reshaped(b, b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", shape}, {"dimension", axis}}), blocks);
  const ValueId inside = reshaped(b, b.emit1(*kSelf, {x}, Attrs{{"axis", axis + 1}}), single);
  auto of_parts = [&](ValueId all) { return reshaped(b, along_dim(b, all, inside, int(axis) + 1), bests); };
  const ValueId values = of_parts(x), indices = of_parts(places);
  const ValueId winner = b.emit1(*kSelf, {values}, Attrs{{"axis", axis}});
  return {reshaped(b, along_dim(b, indices, reshaped(b, winner, only), int(axis)), b.shape(winner))};
}

// jax.numpy's: over all elements in row-major order where there is no axis.
Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  Shape kept(b.shape(x).size(), 1);
  if (!attrs.has("axis")) x = reshaped(b, x, {b.type(x).elements()});
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank());
  ValueId result = as_default_integer(b, b.emit1(op, {x}, Attrs{{"axis", std::int64_t(axis)}}));
  if (!attrs.flag("keepdims")) return {result};
  if (attrs.has("axis")) {
    kept = b.shape(x);
    kept[std::size_t(axis)] = 1;
  }
  return {reshaped(b, result, kept)};
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  int dim = args.operands[0].dim, axis = dim_in_batch(int(args.attrs.integer("axis")), dim);
  return {{b.emit1(args.op, {args.operands[0].value}, Attrs{{"axis", std::int64_t(axis)}}), dim < axis ? dim : dim - 1}};
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (DType dtype : {DType::kFloat32, DType::kInt32, DType::kUint32, DType::kBool, DType::kComplex64})
    for (std::int64_t axis : {0, 1}) samples.push_back({{{dtype, {6, 4}}}, Attrs{{"axis", axis}}});
  samples.push_back({{{DType::kFloat32, {2, 30, 4}}}, Attrs{{"axis", std::int64_t(1)}}});
  samples.push_back({{{DType::kFloat32, {7}}}, Attrs{{"axis", std::int64_t(0)}}});
  samples.push_back({{{DType::kFloat32, {0, 3}}}, Attrs{{"axis", std::int64_t(1)}}});
  return samples;
}

constexpr AttrDef kAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "along which to look; over all elements by default"},
                              {"keepdims", AttrDef::Kind::kFlag, false, "whether the dimension stays, with size 1"}};

template <bool kLargest, const OpDef* kSelf>
constexpr OpDef index_op(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .attrs = kAttrs,
          .weakness = Weakness::kNever,
          .expand = expand,
          .infer = infer,
          .rule = rule,
          .kernel = kernel<kLargest>,
          .in_parts = in_parts<kSelf>,
          .batch = batch,
          .samples = samples};
}

}  // namespace

const OpDef kArgmax =
    index_op<true, &kArgmax>("argmax", "The index of the first largest element along a dimension, int32; NaN is largest.");
const OpDef kArgmin =
    index_op<false, &kArgmin>("argmin", "The index of the first smallest element along a dimension, int32; NaN is smallest.");

}  // namespace shardlab::ops
