// sort: rows of one or more arrays along one dimension, by the first of them; and argsort.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/ops/derive.h"
#include "runtime/ops/gather_dims.h"
#include "runtime/ops/moves.h"
#include "runtime/ops/order.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (types.empty()) throw_user_error("{}: sort requires one or more operands", op.name);
  if (!attrs.has("axis")) throw_user_error("{}: attribute 'axis' is missing", op.name);
  std::int64_t axis = attrs.integer("axis"), keys = attrs.integer("num_keys", 1);
  for (const TensorType& type : types)
    if (type.shape != types[0].shape)
      throw_user_error("{}: Arguments must have equal shapes, got {} and {}", op.name, text_of(types[0].shape), text_of(type.shape));
  if (axis < 0 || axis >= types[0].rank())
    throw_user_error("{}: dimension {} out of bounds for array of shape {}", op.name, axis, text_of(types[0].shape));
  if (keys < 1 || keys > std::int64_t(types.size()))
    throw_user_error("{}: num_keys must be between 1 and the number of operands, {}; got {}", op.name, types.size(), keys);
  return types;
}

// Nothing propagates along the sorted dimension where it is the only one that could be cut.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  std::int64_t axis = attrs.integer("axis");
  const Shape& shape = operands[0].shape;
  bool is_alone = true;
  for (std::size_t d = 0; d < shape.size(); ++d) is_alone &= std::int64_t(d) == axis || shape[d] == 1;
  for (int d = 0; d < int(shape.size()); ++d)
    rule.add(shape[std::size_t(d)], std::vector<int>(operands.size(), d), std::vector<int>(results.size(), d),
             d == axis ? FactorKind::kReplicate : FactorKind::kPass, d == axis && is_alone);
  return rule;
}

// Sorts `order`, the places of one row, stably by the elements at data + place * stride.
void order_by(const ConstView& key, std::int64_t start, std::int64_t stride, std::vector<std::int64_t>& order) {
  visit_dtype(key.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    const T* data = key.as<T>() + start;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return sorts_before(data[a * stride], data[b * stride]); });
  });
}

// One row of one array, which needs no places.
void sort_row(const ConstView& operand, const MutableView& result, std::int64_t start, std::int64_t stride, std::int64_t count) {
  visit_dtype(operand.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    auto row = std::make_unique<T[]>(std::size_t(count));
    for (std::int64_t i = 0; i < count; ++i) row[std::size_t(i)] = operand.as<T>()[start + i * stride];
    std::stable_sort(row.get(), row.get() + count, sorts_before<T>);
    for (std::int64_t i = 0; i < count; ++i) result.as<T>()[start + i * stride] = row[std::size_t(i)];
  });
}

void kernel(const KernelArgs& args) {
  const Shape& shape = args.operands[0].type.shape;
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  std::int64_t keys = args.attrs.integer("num_keys", 1), count = shape[axis], inner = 1, outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < outer * inner; ++row) {
    std::int64_t start = row / inner * count * inner + row % inner;
    if (args.operands.size() == 1) {
      sort_row(args.operands[0], args.results[0], start, inner, count);
      continue;
    }
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t key = keys; key-- > 0;) order_by(args.operands[std::size_t(key)], start, inner, order);
    for (std::size_t i = 0; i < args.operands.size(); ++i) {
      std::int64_t item = size_of(args.operands[i].type.dtype);
      for (std::int64_t k = 0; k < count; ++k)
        std::memcpy(args.results[i].data + (start + k * inner) * item,
                    args.operands[i].data + (start + order[std::size_t(k)] * inner) * item, std::size_t(item));
    }
  }
}

struct Sorted {
  ValueId x;
  std::int64_t axis;
};

// jax.numpy's axis: the last by default; none at all (flag "ravel") is not needed, as ravel is an op.
Sorted operand_of(GraphBuilder& b, const OpDef& op, const Arg& arg, const Attrs& attrs) {
  ValueId x = value_of(b, arg);
  return {x, normalized_axis(op.name, attrs.integer("axis", -1), b.type(x).rank())};
}

Values expand_sort(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Attrs given = attrs;
  if (attrs.has("dimension")) given.set("axis", attrs.integer("dimension"));
  auto [x, axis] = operand_of(b, op, args[0], given);
  Values operands{x};
  for (const Arg& arg : args.subspan(1)) operands.push_back(value_of(b, arg));
  Attrs own{{"axis", axis}};
  if (attrs.integer("num_keys", 1) != 1) own.set("num_keys", attrs.integer("num_keys"));
  Values sorted = b.emit(kSort, operands, own);
  if (attrs.flag("descending"))
    for (ValueId& value : sorted) value = reversed(b, value, {int(axis)});
  return sorted;
}

// The places are sorted along; from the end for descending order, so that equal elements keep theirs.
Values expand_argsort(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  auto [x, axis] = operand_of(b, op, args[0], attrs);
  Shape shape = b.shape(x);
  bool descending = attrs.flag("descending");
  ValueId places = b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", shape}, {"dimension", axis}});
  if (descending) {
    x = reversed(b, x, {int(axis)});
    places = b.emit1(kSub, {filled(b, {DType::kInt32, shape}, double(shape[std::size_t(axis)] - 1)), places});
  }
  ValueId order = b.emit(kSort, {x, places}, Attrs{{"axis", axis}})[1];
  return {as_default_integer(b, descending ? reversed(b, order, {int(axis)}) : order)};
}

// The places are sorted along; tangents are taken from them.
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  Values operands(args.operands.begin(), args.operands.end());
  std::int64_t axis = args.attrs.integer("axis");
  operands.push_back(b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", b.shape(operands[0])}, {"dimension", axis}}));
  Values sorted = b.emit(kSort, operands, args.attrs), tangents;
  for (std::size_t i = 0; i < args.tangents.size(); ++i) {
    args.results[i] = sorted[i];
    tangents.push_back(args.tangents[i] == kZero ? kZero : along_dim(b, args.tangents[i], sorted.back(), int(axis)));
  }
  return tangents;
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  Values operands;
  for (const Batched& x : args.operands) operands.push_back(batched_at(b, x, 0, args.size));
  Attrs attrs = args.attrs;
  attrs.set("axis", args.attrs.integer("axis") + 1);
  std::vector<Batched> results;
  for (ValueId value : b.emit(kSort, operands, attrs)) results.push_back({value, 0});
  return results;
}

std::vector<Sample> samples() {
  auto sample = [](std::vector<DType> dtypes, Shape shape, std::int64_t axis, std::int64_t keys = 1) {
    Sample result{{}, Attrs{{"axis", axis}}};
    for (DType dtype : dtypes) result.operands.push_back({dtype, shape});
    if (keys != 1) result.attrs.set("num_keys", keys);
    return result;
  };
  return {sample({DType::kFloat32}, {6, 4}, 0),
          sample({DType::kInt32}, {4, 6}, 1),
          sample({DType::kBool}, {4, 6}, 0),
          sample({DType::kComplex64}, {7, 2}, 0),
          sample({DType::kFloat32, DType::kInt32}, {4, 3, 6}, 1),
          sample({DType::kBool, DType::kUint32, DType::kFloat32}, {2, 9}, 1, 2),
          sample({DType::kFloat32}, {0, 4}, 0)};
}

constexpr AttrDef kSortAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "along which to sort; the last by default"},
                                  {"num_keys", AttrDef::Kind::kInteger, false, "how many operands decide the order; 1 by default"},
                                  {"dimension", AttrDef::Kind::kInteger, false, "jax.lax's name of the axis"},
                                  {"is_stable", AttrDef::Kind::kFlag, false, "accepted for JAX's sake"},
                                  {"descending", AttrDef::Kind::kFlag, false, "whether the largest come first"},
                                  {"stable", AttrDef::Kind::kFlag, false, "accepted for JAX's sake; equal ones stay in their order"}};
constexpr AttrDef kArgsortAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "along which to sort; the last by default"},
                                     {"descending", AttrDef::Kind::kFlag, false, "whether the largest come first"},
                                     {"stable", AttrDef::Kind::kFlag, false, "accepted for JAX's sake; equal ones stay in their order"}};

}  // namespace

extern const OpDef kArgsort;
const OpDef kSort = {.name = "sort",
                     .doc =
                         "The elements in ascending order along a dimension, equal ones in their order, NaN last; further operands are "
                         "sorted along with the first.",
                     .operands_min = 1,
                     .operands_max = -1,
                     .attrs = kSortAttrs,
                     .weakness = Weakness::kOfEach,
                     .expand = expand_sort,
                     .infer = infer,
                     .rule = rule,
                     .kernel = kernel,
                     .jvp = jvp,
                     .batch = batch,
                     .samples = samples,
                     .compiled_alone = true};
const OpDef kArgsort = {.name = "argsort",
                        .doc = "The places of the elements in ascending order along a dimension, int32; equal ones in their order.",
                        .attrs = kArgsortAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_argsort,
                        .compiled_alone = true};

}  // namespace shardlab::ops
