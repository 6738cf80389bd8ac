// The primitives of random numbers: bits, split, fold_in and permuted indices from a key, which is uint32[2].
//
// Each element depends on the key and its own index alone: whatever part of the result a device holds, it computes by itself.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/ops/moves.h"
#include "runtime/ops/random.h"
#include "runtime/ops/random_keys.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kOriginalWordsMax = 0xffffffff;

// Calls f(row-major index in the whole array, place in the part, count) for each contiguous run of the elements [first, last) of a part.
template <typename F>
void for_each_run(const MutableView& part, const Shape& whole, std::int64_t first, std::int64_t last, const F& f) {
  const Shape &shape = part.type.shape, strides = strides_of(whole);
  // A run ends where a dimension is cut.
  std::size_t cut = shape.size();
  std::int64_t run = 1;
  do {
    if (cut == 0) break;
    run *= shape[--cut];
  } while (shape[cut] == whole[cut]);
  while (first < last) {
    std::int64_t rest = first / run, at = first % run + (shape.empty() ? 0 : (*part.box)[cut].start * strides[cut]);
    for (std::size_t d = cut; d-- > 0; rest /= shape[d]) at += ((*part.box)[d].start + rest % shape[d]) * strides[d];
    const std::int64_t count = std::min(last - first, run - first % run);
    f(at, first, count);
    first += count;
  }
}

// `own` with the layout of counters that the call or the config asks for; the partitionable one goes without saying.
Attrs in_layout(const GraphBuilder& b, const Attrs& given, Attrs own) {
  if (!given.flag("partitionable", b.config().threefry_partitionable)) own.set("partitionable", false);
  return own;
}

// ---- bits

template <typename T>
struct BitsLoop {
  SHARDLAB_INLINE static void run(ThreefryKey key, std::uint64_t start, T* out, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t index = start + std::uint64_t(i);
      ThreefryBlock block = threefry(key, std::uint32_t(index >> 32), std::uint32_t(index));
      if constexpr (sizeof(T) == 8)
        out[i] = (T(block.first) << 32) | block.second;
      else
        out[i] = T(block.first ^ block.second);
    }
  }
};

std::vector<TensorType> infer_bits(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  Shape batch = check_keys(op, types[0]);
  if (!attrs.has("dtype") || !is_unsigned_integer(attrs.dtype("dtype")))
    throw_user_error("{}: dtype must be uint8, uint16, uint32 or uint64, got {}", op.name,
                     attrs.has("dtype") ? name_of(attrs.dtype("dtype")) : "none");
  const Shape shape = required_integers(op, attrs, "shape");
  batch.insert(batch.end(), shape.begin(), shape.end());
  check_shape(op.name, batch);
  return {{attrs.dtype("dtype"), batch}};
}

// Elements [first, last) of the result, which begin at its data.
void write_bits(ThreefryKey key, const MutableView& result, const Shape& whole, std::int64_t first, std::int64_t last) {
  visit_dtype(result.type.dtype, [&]<typename T>(T) {
    if constexpr (std::is_unsigned_v<T> && Whole<T>) {
      auto loop = best_version<BitsLoop<T>, ThreefryKey, std::uint64_t, T*, std::int64_t>();
      for_each_run(result, whole, first, last, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
        loop(key, std::uint64_t(from), result.as<T>() + (to - first), count);
      });
    } else {
      throw InternalError("random bits of a dtype that the shape rule refuses");
    }
  });
}

void bits_kernel(const KernelArgs& args) {
  const MutableView& result = args.results[0];
  write_bits(key_of(args.operands[0]), result, args.attrs.integers("shape"), 0, result.type.elements());
}

// ---- random_threefry2x32, and the older layout made of it

std::vector<TensorType> infer_block(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  Shape batch = check_keys(op, types[0]);
  if (types[1].dtype != DType::kUint32 || !(types[1] == types[2]))
    throw_user_error("{}: the counters must be uint32 of one shape, got {} and {}", op.name, types[1].text(), types[2].text());
  if (types[1].rank() < int(batch.size()) || !std::equal(batch.begin(), batch.end(), types[1].shape.begin()))
    throw_user_error("{}: the counters {} do not begin with the dimensions of the keys {}", op.name, types[1].text(), types[0].text());
  return {types[1], types[2]};
}

void block_kernel(const KernelArgs& args) {
  ThreefryKey key = key_of(args.operands[0]);
  const std::uint32_t *x0 = args.operands[1].as<std::uint32_t>(), *x1 = args.operands[2].as<std::uint32_t>();
  for (std::int64_t i = 0; i < args.results[0].type.elements(); ++i) {
    ThreefryBlock block = threefry(key, x0[i], x1[i]);
    args.results[0].as<std::uint32_t>()[i] = block.first;
    args.results[1].as<std::uint32_t>()[i] = block.second;
  }
}

std::vector<Sample> block_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{4, 6}, Shape{7}, Shape{}, Shape{0}})
    samples.push_back({{{DType::kUint32, {2}}, {DType::kUint32, shape}, {DType::kUint32, shape}}, {}});
  return samples;
}

// `count` words: the counters 0 … count - 1, a 0 added where they are odd, are cut in two halves that are hashed as pairs; the outputs
// follow each other. Where the result is cut, the halves move: the reason for the other layout.
ValueId original_words(GraphBuilder& b, ValueId key, std::int64_t count) {
  std::int64_t half = (count + 1) / 2;
  ValueId counters = b.emit1(kIota, {}, Attrs{{"dtype", DType::kUint32}, {"shape", Shape{count}}, {"dimension", std::int64_t(0)}});
  if (count % 2 != 0) counters = joined(b, {counters, filled(b, {DType::kUint32, {1}}, 0.0)}, 0);
  ValueId low = slice_in_dim(b, counters, 0, {0, half}), high = slice_in_dim(b, counters, 0, {half, 2 * half});
  Values words = b.emit(kThreefry2x32, {key, low, high});
  return slice_in_dim(b, joined(b, words, 0), 0, {0, count});
}

// Of narrow types a word holds several, the low bits first; of wide ones two words far apart make one.
ValueId original_bits(GraphBuilder& b, std::string_view op, ValueId key, const Shape& shape, DType dtype) {
  std::int64_t size = element_count(shape), bytes = size * size_of(dtype), count = (bytes + 3) / 4;
  if (size == 0) return filled(b, {dtype, shape}, 0.0);
  if (count >= kOriginalWordsMax)
    throw_user_error("{}: {} needs more than {} words, which the layout without threefry_partitionable does not have", op,
                     TensorType{dtype, shape}.text(), kOriginalWordsMax);
  ValueId words = original_words(b, key, count);
  auto word = [&](ValueId like, std::int64_t value) { return filled(b, b.type(like), Scalar{value}); };
  if (size_of(dtype) == 8) {
    ValueId high = converted(b, slice_in_dim(b, words, 0, {0, size}), dtype);
    ValueId low = converted(b, slice_in_dim(b, words, 0, {size, 2 * size}), dtype);
    words = b.emit1(kOr, {b.emit1(kShiftLeft, {high, word(high, 32)}), low});
  } else if (size_of(dtype) < 4) {
    std::int64_t width = 8 * size_of(dtype), per_word = 32 / width;
    Shape spread{count, per_word};
    ValueId place = b.emit1(kIota, {}, Attrs{{"dtype", DType::kUint32}, {"shape", spread}, {"dimension", std::int64_t(1)}});
    words = b.emit1(kBroadcastInDim, {words}, Attrs{{"shape", spread}, {"dims", std::vector<std::int64_t>{0}}});
    words = b.emit1(kShiftRightLogical, {words, b.emit1(kMul, {place, word(place, width)})});
    words = b.emit1(kAnd, {words, word(words, (std::int64_t(1) << width) - 1)});
    words = slice_in_dim(b, converted(b, reshaped(b, words, {count * per_word}), dtype), 0, {0, size});
  }
  return reshaped(b, words, shape);
}

ValueId bits_of(GraphBuilder& b, std::string_view op, ValueId key, const Shape& shape, DType dtype, const Attrs& given) {
  if (!given.flag("partitionable", b.config().threefry_partitionable)) return original_bits(b, op, key, shape, dtype);
  return b.emit1(kRandomBits, {key}, Attrs{{"shape", shape}, {"dtype", dtype}});
}

Values expand_bits(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : canonical(DType::kUint64, b.config().enable_x64);
  if (!is_unsigned_integer(dtype))
    throw_user_error("{}: dtype argument to `bits` must be an unsigned int dtype, got {}; take one of uint8, uint16, uint32, uint64",
                     op.name, name_of(dtype));
  Shape shape = attrs.has("shape") ? integer_list_of(attrs, "shape") : Shape{};
  check_shape(op.name, shape);
  ValueId key = key_operand(b, op, args[0]);
  return {bits_of(b, op.name, key, shape, dtype, attrs)};
}

std::vector<Sample> bits_samples() {
  std::vector<Sample> samples;
  const TensorType key{DType::kUint32, {2}};
  for (DType dtype : {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64})
    for (const Shape& shape : {Shape{4, 6}, Shape{7}, Shape{}, Shape{0, 3}, Shape{2, 3, 4}})
      samples.push_back({{key}, Attrs{{"shape", shape}, {"dtype", dtype}}});
  return samples;
}

// ---- split

std::vector<TensorType> infer_split(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  Shape shape = check_keys(op, types[0]);
  const Shape num = required_integers(op, attrs, "num");
  shape.insert(shape.end(), num.begin(), num.end());
  shape.push_back(2);
  check_shape(op.name, shape);
  return {{DType::kUint32, shape}};
}

void split_kernel(const KernelArgs& args) {
  const MutableView& result = args.results[0];
  ThreefryKey key = key_of(args.operands[0]);
  Shape shape = args.attrs.integers("num");
  shape.push_back(2);
  std::uint64_t words = std::uint64_t(element_count(shape));
  bool partitionable = args.attrs.flag("partitionable", true);
  for_each_run(result, shape, 0, result.type.elements(), [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t word = std::uint64_t(from + i), index = word / 2;
      ThreefryBlock block = threefry(key, std::uint32_t(index >> 32), std::uint32_t(index));
      std::uint32_t value = word % 2 == 0 ? block.first : block.second;
      result.as<std::uint32_t>()[to + i] = partitionable ? value : original_word(key, word, words);
    }
  });
}

Values expand_split(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return b.emit(op, {key_operand(b, op, args[0])},
                in_layout(b, attrs, Attrs{{"num", attrs.has("num") ? integer_list_of(attrs, "num") : Shape{2}}}));
}

std::vector<Sample> split_samples() {
  const TensorType key{DType::kUint32, {2}};
  return {{{key}, Attrs{{"num", Shape{2}}}},
          {{key}, Attrs{{"num", Shape{7}}}},
          {{key}, Attrs{{"num", Shape{2, 3}}}},
          {{key}, Attrs{{"num", Shape{4}}, {"partitionable", false}}}};
}

// ---- fold_in

std::vector<TensorType> infer_fold_in(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  Shape batch = check_keys(op, types[0]);
  if (types[1].shape != batch || types[1].dtype != DType::kUint32)
    throw_user_error("{} accepts a single value of data, but was given {}; call it once for each", op.name, types[1].text());
  return {types[0]};
}

void fold_in_kernel(const KernelArgs& args) {
  const MutableView& result = args.results[0];
  ThreefryBlock block = threefry(key_of(args.operands[0]), 0, args.operands[1].as<std::uint32_t>()[0]);
  const std::uint32_t words[] = {block.first, block.second};
  const Interval& held = (*result.box)[0];
  std::copy(words + held.start, words + held.start + held.size(), result.as<std::uint32_t>());
}

// The data are an operand or the attribute "data".
Values expand_fold_in(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (args.size() < 2 && !attrs.has("data")) throw_user_error("{}: the number to fold in is missing; give it as 'data'", op.name);
  ValueId data = -1;
  if (args.size() > 1 && std::holds_alternative<ValueId>(args[1]))
    data = value_of(b, args[1], DType::kUint32);
  else if (args.size() > 1)
    data = scalar_constant(b, DType::kUint32, std::get<Scalar>(args[1]));
  else
    data = scalar_constant(b, DType::kUint32, Scalar{attrs.integer("data") & 0xffffffff});
  return b.emit(op, {key_operand(b, op, args[0]), data});
}

std::vector<Sample> fold_in_samples() { return {{{{DType::kUint32, {2}}, {DType::kUint32, {}}}, {}}}; }

// ---- permuted indices

// Stable sorts by fresh 32-bit keys, as many rounds as make equal keys in all of them unlikely.
void permutation_kernel(const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::int64_t size = args.attrs.integer("size");
  bool partitionable = args.attrs.flag("partitionable", true);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  ThreefryKey key = key_of(args.operands[0]);
  int rounds = int(std::ceil(3 * std::log(double(std::max<std::int64_t>(1, size))) / std::log(4294967295.0)));
  for (int round = 0; round < rounds; ++round) {
    auto child = [&](std::uint64_t index) -> ThreefryKey {
      if (!partitionable) return {original_word(key, 2 * index, 4), original_word(key, 2 * index + 1, 4)};
      ThreefryBlock block = threefry(key, 0, std::uint32_t(index));
      return {block.first, block.second};
    };
    ThreefryKey next = child(0), subkey = child(1);
    std::vector<std::pair<std::uint32_t, std::int64_t>> keyed;
    for (std::int64_t i = 0; i < size; ++i) {
      ThreefryBlock block = threefry(subkey, std::uint32_t(std::uint64_t(i) >> 32), std::uint32_t(i));
      std::uint32_t bits = partitionable ? block.first ^ block.second : original_word(subkey, std::uint64_t(i), std::uint64_t(size));
      keyed.emplace_back(bits, order[std::size_t(i)]);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::int64_t i = 0; i < size; ++i) order[std::size_t(i)] = keyed[std::size_t(i)].second;
    key = next;
  }
  const Interval& held = (*result.box)[0];
  visit_dtype(result.type.dtype, [&]<typename T>(T) {
    for (std::int64_t i = 0; i < held.size(); ++i) result.as<T>()[i] = element_from<T>(order[std::size_t(held.start + i)]);
  });
}

std::vector<TensorType> infer_permutation(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  Shape shape = check_keys(op, types[0]);
  if (!attrs.has("size") || !attrs.has("dtype")) throw_user_error("{}: attributes 'size' and 'dtype' are needed", op.name);
  shape.push_back(attrs.integer("size"));
  check_shape(op.name, shape);
  if (!is_integer(attrs.dtype("dtype"))) throw_user_error("{}: dtype {} is no integer type", op.name, name_of(attrs.dtype("dtype")));
  return {{attrs.dtype("dtype"), shape}};
}

Values expand_permuted(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (!attrs.has("size")) throw_user_error("{}: attribute 'size' is missing", op.name);
  Attrs own{{"size", attrs.integer("size")}, {"dtype", dtype_or(b, attrs, WeakKind::kInteger)}};
  return b.emit(op, {key_operand(b, op, args[0])}, in_layout(b, attrs, std::move(own)));
}

std::vector<Sample> permutation_samples() {
  const TensorType key{DType::kUint32, {2}};
  std::vector<Sample> samples;
  for (std::int64_t size : {0, 1, 7, 24}) samples.push_back({{key}, Attrs{{"size", size}, {"dtype", DType::kInt32}}});
  samples.push_back({{key}, Attrs{{"size", std::int64_t(12)}, {"dtype", DType::kInt32}, {"partitionable", false}}});
  return samples;
}

constexpr AttrDef kPartitionable = {"partitionable", AttrDef::Kind::kFlag, false,
                                    "how counters are laid out; the config flag threefry_partitionable by default"};
constexpr AttrDef kBitsAttrs[] = {{"shape", AttrDef::Kind::kScalarOrIntegers, false, "the shape of the result; a scalar by default"},
                                  {"dtype", AttrDef::Kind::kDType, false, "uint8, uint16, uint32 (the default) or uint64"},
                                  kPartitionable};
constexpr AttrDef kSplitAttrs[] = {{"num", AttrDef::Kind::kScalarOrIntegers, false, "how many keys, or a shape of keys; 2 by default"},
                                   kPartitionable};
constexpr AttrDef kFoldAttrs[] = {{"data", AttrDef::Kind::kInteger, false, "the number, where it is not the second operand"}};
constexpr AttrDef kPermutationAttrs[] = {{"size", AttrDef::Kind::kInteger, true, "how many indices"},
                                         {"dtype", AttrDef::Kind::kDType, false, "int32 by default"},
                                         kPartitionable};
constexpr std::string_view kBitsAliases[] = {"random.bits"};
constexpr std::string_view kSplitAliases[] = {"random.split"};
constexpr std::string_view kFoldAliases[] = {"random.fold_in"};

}  // namespace

ValueId random_bits(GraphBuilder& b, ValueId key, const Shape& shape, DType dtype) {
  return bits_of(b, "random.bits", key, shape, dtype, {});
}

void random_bits_of_part(const std::byte* key, const MutableView& result, const Shape& whole, std::int64_t first, std::int64_t last) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(key);
  write_bits({words[0], words[1]}, result, whole, first, last);
}

const OpDef kRandomBits = {.name = "random_bits",
                           .doc = "Random bits from a key, the same for every layout of devices.",
                           .aliases = kBitsAliases,
                           .attrs = kBitsAttrs,
                           .weakness = Weakness::kNever,
                           .expand = expand_bits,
                           .infer = infer_bits,
                           .rule = key_rule,
                           .kernel = over_keys<bits_kernel>,
                           .needs = needed_keys,
                           .uses_position = true,
                           .batch = batch_of_keys,
                           .samples = bits_samples};
const OpDef kThreefry2x32 = {.name = "random_threefry2x32",
                             .doc = "Two counters hashed by a key, element by element: args key, counters, counters; two results.",
                             .operands_min = 3,
                             .operands_max = 3,
                             .weakness = Weakness::kNever,
                             .expand = expand_plain,
                             .infer = infer_block,
                             .rule = key_rule,
                             .kernel = over_keys<block_kernel>,
                             .batch = batch_of_keys,
                             .samples = block_samples};
const OpDef kRandomSplit = {.name = "random_split",
                            .doc = "New keys from a key, one a row: uint32[num, 2].",
                            .aliases = kSplitAliases,
                            .attrs = kSplitAttrs,
                            .weakness = Weakness::kNever,
                            .expand = expand_split,
                            .infer = infer_split,
                            .rule = key_rule,
                            .kernel = over_keys<split_kernel>,
                            .needs = needed_keys,
                            .uses_position = true,
                            .batch = batch_of_keys,
                            .samples = split_samples};
const OpDef kRandomFoldIn = {.name = "random_fold_in",
                             .doc = "A new key from a key and a number.",
                             .aliases = kFoldAliases,
                             .operands_min = 1,
                             .operands_max = 2,
                             .attrs = kFoldAttrs,
                             .weakness = Weakness::kNever,
                             .expand = expand_fold_in,
                             .infer = infer_fold_in,
                             .rule = key_rule,
                             .kernel = over_keys<fold_in_kernel>,
                             .uses_position = true,
                             .batch = batch_of_keys,
                             .samples = fold_in_samples};
const OpDef kRandomIndices = {.name = "random_indices",
                              .doc = "The numbers 0 to size - 1 in random order.",
                              .attrs = kPermutationAttrs,
                              .weakness = Weakness::kNever,
                              .expand = expand_permuted,
                              .infer = infer_permutation,
                              .rule = key_rule,
                              .kernel = over_keys<permutation_kernel>,
                              .uses_position = true,
                              .batch = batch_of_keys,
                              .samples = permutation_samples};

}  // namespace shardlab::ops
