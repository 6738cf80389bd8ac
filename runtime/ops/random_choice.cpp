// Random orders and choices: permutation, choice and categorical, made of random numbers as JAX makes them.
#include <cmath>

#include "runtime/ops/moves.h"
#include "runtime/ops/random.h"
#include "runtime/ops/random_keys.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {
namespace {

ValueId applied(GraphBuilder& b, std::string_view name, const std::vector<Arg>& args, const Attrs& attrs) {
  const OpDef& op = *find_op(name);
  return op.expand(b, op, args, attrs).at(0);
}

// Sorted by fresh keys, in as many rounds as make equal keys in all of them unlikely. Source: jax.random.permutation.
ValueId shuffled(GraphBuilder& b, ValueId key, ValueId x, int axis) {
  double size = double(std::max<std::int64_t>(1, b.type(x).elements()));
  int rounds = int(std::ceil(3 * std::log(size) / std::log(4294967295.0)));
  for (int round = 0; round < rounds; ++round) {
    ValueId subkey = applied(b, "random.child", {key}, Attrs{{"index", std::int64_t(1)}});
    key = applied(b, "random.child", {key}, Attrs{{"index", std::int64_t(0)}});
    ValueId order = random_bits(b, subkey, b.shape(x), DType::kUint32);
    x = b.emit(kSort, {order, x}, Attrs{{"axis", std::int64_t(axis)}})[1];
  }
  return x;
}

ValueId permuted_numbers(GraphBuilder& b, ValueId key, std::int64_t size) {
  return kRandomIndices.expand(b, kRandomIndices, std::vector<Arg>{key}, Attrs{{"size", size}}).at(0);
}

ValueId taken(GraphBuilder& b, ValueId x, ValueId places, int axis) {
  return applied(b, "take", {x, places}, Attrs{{"axis", std::int64_t(axis)}, {"mode", std::string("clip")}});
}

ValueId permuted(GraphBuilder& b, ValueId key, ValueId x, int axis, bool is_independent) {
  if (is_independent && b.type(x).rank() > 1) return shuffled(b, key, x, axis);
  return taken(b, x, permuted_numbers(b, key, b.shape(x)[std::size_t(axis)]), axis);
}

// A number in place of an array, as JAX takes it by position.
const std::int64_t* count_in(Args args) {
  const auto* scalar = args.size() > 1 ? std::get_if<Scalar>(&args[1]) : nullptr;
  return scalar == nullptr ? nullptr : std::get_if<std::int64_t>(&scalar->value);
}

std::int64_t count_of(const OpDef& op, Args args, const Attrs& attrs, std::string_view name) {
  const std::int64_t* given = count_in(args);
  if (!given && !attrs.has(name)) throw_user_error("{}: give an array, or a number known when the program is built as '{}'", op.name, name);
  std::int64_t count = given ? *given : attrs.integer(name);
  if (count < 0) throw_user_error("{}: {} is {}, wanted 0 or more", op.name, name, count);
  check_shape(op.name, {count});
  return count;
}

// An array is permuted along an axis; a number stands for the numbers below it.
Values expand_permutation(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId key = key_operand(b, op, args[0]);
  if (args.size() == 1 || count_in(args)) return {permuted_numbers(b, key, count_of(op, args, attrs, "x"))};
  ValueId x = value_of(b, args[1]);
  if (b.type(x).rank() == 0) throw_user_error("{}: x must be an integer or at least 1-dimensional; give the number as 'x'", op.name);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank());
  return {permuted(b, key, x, axis, attrs.flag("independent"))};
}

// What is chosen from: an array's parts along an axis, or the numbers below a count.
struct Population {
  std::optional<ValueId> x;
  int axis = 0;
  std::int64_t size = 0;
};

// Places in the population, of the shape asked for.
ValueId weighted_places(GraphBuilder& b, const OpDef& op, ValueId key, ValueId p, const Shape& shape, bool replace, std::int64_t size) {
  DType dtype = inexact(b.type(p).dtype);
  p = converted(b, p, dtype);
  if (b.shape(p) != Shape{size})
    throw_user_error("{}: p must be None or a 1D vector with the same size as a.shape[axis]. p has shape {} and a.shape[axis] is {}.",
                     op.name, text_of(b.shape(p)), size);
  if (!replace) {  // the greatest of log(p) + gumbel; source: Vieira, "Gumbel-max trick and weighted reservoir sampling"
    ValueId noise = applied(b, "random.gumbel", {key}, Attrs{{"shape", Shape{size}}, {"dtype", dtype}});
    ValueId score = b.emit1(kAdd, {noise, unary(b, kLog, p)});
    return reshaped(b, b.emit(kTopK, {score}, Attrs{{"k", element_count(shape)}})[1], shape);
  }
  ValueId running = applied(b, "cumsum", {p}, Attrs{{"axis", std::int64_t(0)}});
  ValueId total = reshaped(b, slice_in_dim(b, running, 0, {size - 1, size}), {});
  ValueId u = applied(b, "random.uniform", {key}, Attrs{{"shape", shape}, {"dtype", dtype}});
  ValueId rest = b.emit1(kSub, {filled(b, b.type(u), 1.0), u});
  ValueId r = b.emit1(kMul, {broadcast_to(b, total, shape), rest});
  return applied(b, "searchsorted", {running, r}, {});
}

Values expand_choice(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId key = key_operand(b, op, args[0]);
  Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : Shape{};
  check_shape(op.name, shape);
  bool replace = attrs.flag("replace", true), is_weighted = attrs.flag("weighted");
  bool is_count = attrs.has("a") || count_in(args);
  if (args.size() != std::size_t(1 + (!is_count || count_in(args)) + is_weighted))
    throw_user_error("{}: wanted a key{}{}, got {} operands", op.name, is_count ? "" : ", an array", is_weighted ? ", probabilities" : "",
                     args.size());
  Population from;
  if (is_count) {
    from.size = count_of(op, args, attrs, "a");
  } else {
    from.x = value_of(b, args[1]);
    if (b.type(*from.x).rank() == 0) throw_user_error("{}: a scalar array has no parts; give the number as 'a'", op.name);
    from.axis = normalized_axis(op.name, attrs.integer("axis", 0), b.type(*from.x).rank());
    from.size = b.shape(*from.x)[std::size_t(from.axis)];
  }
  std::int64_t draws = element_count(shape);
  if (draws == 0) return {filled(b, {from.x ? b.type(*from.x).dtype : DType::kInt32, shape}, 0.0)};
  if (from.size <= 0) throw_user_error("{}: a must be greater than 0 unless no samples are taken", op.name);
  if (!replace && draws > from.size)
    throw_user_error("{}: Cannot take a larger sample (size {}) than population (size {}) when 'replace=False'", op.name, draws, from.size);
  ValueId places = -1;
  if (is_weighted) {
    places = weighted_places(b, op, key, value_of(b, args.back()), shape, replace, from.size);
  } else if (replace) {
    places = applied(b, "random.randint", {key}, Attrs{{"shape", shape}, {"minval", std::int64_t(0)}, {"maxval", from.size}});
  } else {
    places = reshaped(b, slice_in_dim(b, permuted_numbers(b, key, from.size), 0, {0, draws}), shape);
  }
  return {from.x ? taken(b, *from.x, places, from.axis) : places};
}

// The greatest of logits + gumbel along the axis, one for each of the dimensions before them; without replacement the k greatest.
Values expand_categorical(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId key = key_operand(b, op, args[0]), logits = value_of(b, args[1]);
  TensorType type = b.type(logits);
  int axis = normalized_axis(op.name, attrs.integer("axis", -1), type.rank());
  Shape batch = type.shape, shape;
  batch.erase(batch.begin() + axis);
  shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : batch;
  check_shape(op.name, shape);
  std::size_t before = shape.size() - std::min(shape.size(), batch.size());
  if (shape.size() < batch.size() || Shape(shape.begin() + std::ptrdiff_t(before), shape.end()) != batch)
    throw_user_error("{}: shape must end in the shape of the logits without the axis, {}; got {}", op.name, text_of(batch), text_of(shape));
  Shape prefix(shape.begin(), shape.begin() + std::ptrdiff_t(before)), drawn = prefix;
  if (attrs.flag("replace", true)) {
    drawn.insert(drawn.end(), type.shape.begin(), type.shape.end());
    ValueId noise = applied(b, "random.gumbel", {key}, Attrs{{"shape", drawn}, {"dtype", type.dtype}});
    ValueId score = b.emit1(kAdd, {noise, broadcast_to(b, logits, drawn)});
    return {applied(b, "argmax", {score}, Attrs{{"axis", std::int64_t(axis) + std::int64_t(before)}})};
  }
  std::int64_t k = element_count(prefix), size = type.shape[std::size_t(axis)];
  if (k > size)
    throw_user_error("{}: Number of samples without replacement ({}) cannot exceed number of categories ({}).", op.name, k, size);
  ValueId noise = applied(b, "random.gumbel", {key}, Attrs{{"shape", type.shape}, {"dtype", type.dtype}});
  std::vector<int> order, first;
  for (int d = 0; d < type.rank(); ++d)
    if (d != axis) order.push_back(d);
  order.push_back(axis);
  ValueId places = b.emit(kTopK, {transposed(b, b.emit1(kAdd, {logits, noise}), order)}, Attrs{{"k", k}})[1];
  first.push_back(type.rank() - 1);
  for (int d = 0; d + 1 < type.rank(); ++d) first.push_back(d);
  return {reshaped(b, transposed(b, places, first), shape)};
}

constexpr AttrDef kPermutationAttrs[] = {
    {"x", AttrDef::Kind::kInteger, false, "how many numbers, where there is no array"},
    {"axis", AttrDef::Kind::kInteger, false, "which of the array's axes; the first by default"},
    {"independent", AttrDef::Kind::kFlag, false, "whether rows along the axis are permuted each for itself; otherwise all alike"}};
constexpr AttrDef kShape = {"shape", AttrDef::Kind::kScalarOrIntegers, false, "the shape of the result; one by default"};
constexpr AttrDef kReplace = {"replace", AttrDef::Kind::kFlag, false, "whether one may be drawn again; true by default"};
constexpr AttrDef kChoiceAttrs[] = {kShape,
                                    kReplace,
                                    {"a", AttrDef::Kind::kInteger, false, "how many numbers, where there is no array"},
                                    {"axis", AttrDef::Kind::kInteger, false, "which of the array's axes; the first by default"},
                                    {"weighted", AttrDef::Kind::kFlag, false, "whether the last operand is the probabilities"}};
constexpr AttrDef kCategoricalAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "the categories; the last by default"},
                                         {"shape", AttrDef::Kind::kScalarOrIntegers, false, "the logits' without the axis by default"},
                                         kReplace};

}  // namespace

extern const OpDef kRandomPermutation, kRandomChoice, kRandomCategorical;

const OpDef kRandomPermutation = {
    .name = "random.permutation",
    .doc = "The numbers below x, or an array along an axis, in random order: args key, or key and a number or an array.",
    .operands_min = 1,
    .operands_max = 2,
    .attrs = kPermutationAttrs,
    .weakness = Weakness::kOfOthers,
    .expand = expand_permutation};
const OpDef kRandomChoice = {.name = "random.choice",
                             .doc =
                                 "Drawn from the numbers below a, or from an array along an axis: args key, the array if there is one, "
                                 "and the probabilities if weighted.",
                             .operands_min = 1,
                             .operands_max = 3,
                             .attrs = kChoiceAttrs,
                             .weakness = Weakness::kOfOthers,
                             .expand = expand_choice};
const OpDef kRandomCategorical = {.name = "random.categorical",
                                  .doc = "Places along an axis, each with the probability that softmax gives its logit: args key, logits.",
                                  .operands_min = 2,
                                  .operands_max = 2,
                                  .attrs = kCategoricalAttrs,
                                  .weakness = Weakness::kNever,
                                  .expand = expand_categorical};

}  // namespace shardlab::ops
