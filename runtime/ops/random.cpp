// The distributions of jax.random, made of random bits as JAX makes them: the numbers are equal bit for bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/random.h"
#include "runtime/ops/random_keys.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

// Beyond the standard, in every compiler for 64-bit machines.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

// What an expansion with a key, a shape and a dtype works on.
struct Draw {
  ValueId key;
  Shape shape;
  DType dtype;
};

Draw draw_of(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, WeakKind kind = WeakKind::kReal) {
  Draw draw{key_operand(b, op, args[0]), attrs.has("shape") ? integer_list_of(attrs, "shape") : Shape{}, dtype_or(b, attrs, kind)};
  check_shape(op.name, draw.shape);
  return draw;
}

void check_floating(const OpDef& op, DType dtype) {
  if (!is_floating(dtype))
    throw_user_error("dtype argument to `{}` must be a float dtype, got {}; take float32 or convert the result",
                     op.name.substr(op.name.find('.') + 1), name_of(dtype));
}

// What numpy.finfo says of a dtype.
struct FloatInfo {
  int bits, mantissa_bits;
  double tiny, epsilon;
};
FloatInfo info_of(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return {16, 7, 0x1p-126, 0x1p-7};
    case DType::kFloat16:
      return {16, 10, 0x1p-14, 0x1p-10};
    case DType::kFloat64:
      return {64, 52, 0x1p-1022, 0x1p-52};
    default:
      return {32, 23, 0x1p-126, 0x1p-23};
  }
}

DType unsigned_of(int bits) {
  return bits == 8 ? DType::kUint8 : bits == 16 ? DType::kUint16 : bits == 32 ? DType::kUint32 : DType::kUint64;
}

// Whole numbers as scalars keep all their bits.
ValueId binary_whole(GraphBuilder& b, const OpDef& op, ValueId x, std::uint64_t y) {
  return b.emit1(op, {x, filled(b, b.type(x), Scalar{std::int64_t(y)})});
}

// In [0, 1): random bits as the fraction of a number from 1 to 2. bfloat16 draws 8 bits.
ValueId unit_floats(GraphBuilder& b, const Draw& draw) {
  FloatInfo info = info_of(draw.dtype);
  int drawn = info.mantissa_bits < 8 ? 8 : info.bits;
  ValueId bits = converted(b, random_bits(b, draw.key, draw.shape, unsigned_of(drawn)), unsigned_of(info.bits));
  std::uint64_t one = visit_dtype(draw.dtype, []<typename T>(T) -> std::uint64_t {
    T value = element_from<T>(1.0);
    std::uint64_t word = 0;
    std::memcpy(&word, &value, std::min(sizeof(T), sizeof(word)));
    return word;
  });
  ValueId fraction = binary_whole(b, kShiftRightLogical, bits, std::uint64_t(drawn - info.mantissa_bits));
  ValueId word = binary_whole(b, kOr, fraction, one);
  return binary(b, kSub, b.emit1(kBitcast, {word}, Attrs{{"dtype", draw.dtype}}), 1.0);
}

ValueId full_of(GraphBuilder& b, const Draw& draw, ValueId scalar) { return broadcast_to(b, scalar, draw.shape); }

// max(low, unit * (high - low) + low); the limits are scalars of the dtype.
ValueId uniform_between(GraphBuilder& b, const Draw& draw, ValueId low, ValueId high) {
  ValueId range = full_of(b, draw, b.emit1(kSub, {high, low}));
  ValueId floor = full_of(b, draw, low);
  ValueId scaled = b.emit1(kMul, {unit_floats(b, draw), range});
  return b.emit1(kMaximum, {floor, b.emit1(kAdd, {scaled, floor})});
}

ValueId uniform_between(GraphBuilder& b, const Draw& draw, double low, double high) {
  if (low == 0 && high == 1) return unit_floats(b, draw);
  return uniform_between(b, draw, scalar_constant(b, draw.dtype, low), scalar_constant(b, draw.dtype, high));
}

// The number at an operand's place, else at an attribute, else the default; as a scalar of the dtype or broadcastable to the shape.
ValueId limit_of(GraphBuilder& b, Args args, std::size_t index, const Attrs& attrs, std::string_view name, double otherwise, DType dtype) {
  if (args.size() > index) return value_of(b, args[index], dtype);
  return scalar_constant(b, dtype, attrs.has(name) ? attrs.number(name) : otherwise);
}

bool is_default_range(Args args, const Attrs& attrs) {
  return args.size() == 1 && (!attrs.has("minval") || attrs.number("minval") == 0) && (!attrs.has("maxval") || attrs.number("maxval") == 1);
}

Values expand_uniform(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  if (is_default_range(args, attrs)) return {unit_floats(b, draw)};
  ValueId low = limit_of(b, args, 1, attrs, "minval", 0, draw.dtype), high = limit_of(b, args, 2, attrs, "maxval", 1, draw.dtype);
  for (ValueId limit : {low, high}) check_broadcasts_to(op.name, b.shape(limit), draw.shape);
  if (b.shape(low) != b.shape(high)) {
    low = full_of(b, draw, low);
    high = full_of(b, draw, high);
  }
  return {uniform_between(b, draw, low, high)};
}

// sqrt(2) erf_inv(u) with u in (-1, 1).
ValueId normal(GraphBuilder& b, const Draw& draw) {
  double below_one = 1 - info_of(draw.dtype).epsilon / 2;
  return binary(b, kMul, unary(b, kErfInv, uniform_between(b, draw, -below_one, 1.0)), std::sqrt(2.0));
}

// Row `index` of jax.random.split(key, num). In the partitionable layout that is fold_in(key, index), whatever num is; in the other
// one it is the sum of the rows with all others masked out.
ValueId child_key(GraphBuilder& b, ValueId key, std::int64_t index, std::int64_t num) {
  if (b.config().threefry_partitionable) return b.emit1(kRandomFoldIn, {key, scalar_constant(b, DType::kUint32, Scalar{index})});
  ValueId keys = b.emit1(kRandomSplit, {key}, Attrs{{"num", Shape{num}}, {"partitionable", false}});
  ValueId row = b.emit1(kIota, {}, Attrs{{"dtype", DType::kUint32}, {"shape", Shape{num, 2}}, {"dimension", std::int64_t(0)}});
  ValueId mask = binary_whole(b, kEqual, row, std::uint64_t(index));
  ValueId kept = b.emit1(kSelect, {mask, keys, filled(b, b.type(keys), 0.0)});
  return b.emit1(kReduceSum, {kept}, Attrs{{"axes", std::vector<std::int64_t>{0}}});
}

std::pair<ValueId, ValueId> split_in_two(GraphBuilder& b, ValueId key) {
  ValueId first = child_key(b, key, 0, 2);
  return {first, child_key(b, key, 1, 2)};
}

Values expand_normal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  if (is_complex(draw.dtype)) {  // of variance 1 together
    const auto [of_real, of_imag] = split_in_two(b, draw.key);
    auto part = [&](ValueId key) { return Term(b, converted(b, normal(b, {key, draw.shape, real_dtype(draw.dtype)}), draw.dtype)); };
    const Term real = part(of_real), imag = part(of_imag);
    return {((real + imag * Item(Scalar{std::complex<double>(0, 1)})) / std::sqrt(2.0)).id()};
  }
  check_floating(op, draw.dtype);
  return {normal(b, draw)};
}

// Between limits that are arrays, each element its own.
Values randint_between(GraphBuilder& b, const OpDef& op, const Draw& draw, Args args, const Attrs& attrs) {
  const DType made = size_of(draw.dtype) < 4 ? DType::kInt32 : draw.dtype;
  auto limit = [&](std::size_t i, std::string_view name) {
    if (args.size() <= i && !attrs.has(name)) throw_user_error("{}: '{}' is missing, an operand or an attribute", op.name, name);
    const Term given = args.size() > i ? term(b, args[i]) : Term(b, scalar_constant(b, made, Scalar{attrs.integer(name)}));
    if (is_inexact(given.dtype())) throw_user_error("{}: {} must be whole numbers, got {}; convert them", op.name, name, given.text());
    check_broadcasts_to(op.name, given.shape(), draw.shape);
    return broadcast(converted(given, made), draw.shape);
  };
  Term low = limit(1, "minval"), high = limit(2, "maxval");
  if (made != draw.dtype) {
    const bool is_signed = is_signed_integer(draw.dtype);
    const std::int64_t values = std::int64_t(1) << (8 * size_of(draw.dtype)), least = is_signed ? -values / 2 : 0;
    low = call(b, "clip", {low, least, least + values - 1});
    high = call(b, "clip", {high, least, least + values});
  }
  const std::int64_t bits = 8 * size_of(made);
  const DType word = unsigned_of(int(bits));
  auto rest = [&](const Term& x, const Term& by) { return Term(b, b.emit1(kRem, {x.id(), by.id()})); };
  const Term span = where(high <= low, 1, converted(high - low, word));
  const Term half(b, filled(b, span.type(), Scalar{std::int64_t(1) << (bits / 2)}));
  const Term root = rest(half, span), factor = rest(root * root, span);
  const auto [first, second] = split_in_two(b, draw.key);
  const Term upper = rest({b, random_bits(b, first, draw.shape, word)}, span);
  const Term lower = rest({b, random_bits(b, second, draw.shape, word)}, span);
  return {converted(low + converted(rest(upper * factor + lower, span), made), draw.dtype).id()};
}

// Whole numbers in [minval, maxval): two words reduced by the span. Source: jax.random.randint.
Values expand_randint(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs, WeakKind::kInteger);
  if (!is_integer(draw.dtype)) throw_user_error("randint only accepts integer dtypes, got {}; take int32 and convert", name_of(draw.dtype));
  if (args.size() > 1) return randint_between(b, op, draw, args, attrs);
  if (!attrs.has("minval") || !attrs.has("maxval")) throw_user_error("{}: 'minval' and 'maxval' are needed", op.name);
  Int128 low = attrs.integer("minval"), high = attrs.integer("maxval");
  DType made = draw.dtype;
  auto limits = [](DType dtype) {
    int bits = int(8 * size_of(dtype));
    Int128 one = 1;
    if (is_signed_integer(dtype)) return std::pair<Int128, Int128>(-(one << (bits - 1)), (one << (bits - 1)) - 1);
    return std::pair<Int128, Int128>(0, (one << bits) - 1);
  };
  auto [own_least, own_most] = limits(made);
  if (size_of(made) < 4) {  // sampled as int32
    low = std::max(low, own_least);
    high = std::min(high, own_most + 1);
    made = DType::kInt32;
  }
  auto [least, most] = limits(made);
  bool beyond = high > most;
  low = std::clamp(low, least, most);
  high = std::clamp(high, least, most);
  int bits = int(8 * size_of(made));
  Uint128 modulus = static_cast<Uint128>(1) << bits;
  Uint128 span = high <= low ? 1 : (static_cast<Uint128>(high - low) + (beyond ? 1 : 0)) % modulus;
  auto reduced = [&](Uint128 value) { return span == 0 ? value : value % span; };
  Uint128 factor = reduced(static_cast<Uint128>(1) << (bits / 2));
  factor = reduced(factor * factor % modulus);

  DType word = unsigned_of(bits);
  auto [first, second] = split_in_two(b, draw.key);
  ValueId high_bits = random_bits(b, first, draw.shape, word), low_bits = random_bits(b, second, draw.shape, word);
  auto modulo = [&](ValueId x) { return binary_whole(b, kRem, x, std::uint64_t(span)); };
  ValueId upper = binary_whole(b, kMul, modulo(high_bits), std::uint64_t(factor));
  ValueId offset = modulo(b.emit1(kAdd, {upper, modulo(low_bits)}));
  ValueId value = b.emit1(kAdd, {filled(b, {made, draw.shape}, Scalar{std::int64_t(low)}), converted(b, offset, made)});
  return {converted(b, value, draw.dtype)};
}

Values expand_bernoulli(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = default_dtype(WeakKind::kReal, b.config().enable_x64);
  Draw draw = draw_of(b, op, args, attrs);
  if (args.size() > 1 && std::holds_alternative<ValueId>(args[1])) {
    DType own = dtype_of_arg(b, args[1]);
    if (is_floating(own)) dtype = own;
    if (!attrs.has("shape")) draw.shape = shape_of_arg(b, args[1]);
  }
  draw.dtype = dtype;
  check_broadcasts_to(op.name, args.size() > 1 ? shape_of_arg(b, args[1]) : Shape{}, draw.shape);
  return {b.emit1(kLess, {unit_floats(b, draw), full_of(b, draw, limit_of(b, args, 1, attrs, "p", 0.5, dtype))})};
}

Values expand_exponential(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  return {unary(b, kNeg, unary(b, kLog1p, unary(b, kNeg, unit_floats(b, draw))))};
}

Values expand_gumbel(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  ValueId u = uniform_between(b, draw, info_of(draw.dtype).tiny, 1.0);
  return {unary(b, kNeg, unary(b, kLog, unary(b, kNeg, unary(b, kLog, u))))};
}

Values expand_laplace(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  ValueId u = uniform_between(b, draw, -1 + info_of(draw.dtype).epsilon / 2, 1.0);
  return {b.emit1(kMul, {unary(b, kSign, u), unary(b, kLog1p, unary(b, kNeg, unary(b, kAbs, u)))})};
}

Values expand_logistic(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  ValueId u = uniform_between(b, draw, info_of(draw.dtype).tiny, 1.0);
  return {b.emit1(kSub, {unary(b, kLog, u), unary(b, kLog1p, unary(b, kNeg, u))})};
}

Values expand_cauchy(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  ValueId u = uniform_between(b, draw, info_of(draw.dtype).epsilon, 1.0);
  ValueId angle = b.emit1(kMul, {filled(b, b.type(u), M_PI), binary(b, kSub, u, 0.5)});
  return {unary(b, kTan, angle)};
}

// Normal numbers between two limits: args key, lower, upper.
Values expand_truncated_normal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs);
  check_floating(op, draw.dtype);
  ValueId lower = limit_of(b, args, 1, attrs, "lower", -std::numeric_limits<double>::infinity(), draw.dtype);
  ValueId upper = limit_of(b, args, 2, attrs, "upper", std::numeric_limits<double>::infinity(), draw.dtype);
  if (!attrs.has("shape")) draw.shape = broadcast_shapes(op.name, {b.shape(lower), b.shape(upper)});
  for (ValueId limit : {lower, upper}) check_broadcasts_to(op.name, b.shape(limit), draw.shape);
  double root = std::sqrt(2.0);
  auto image = [&](ValueId limit) { return unary(b, kErf, binary(b, kDiv, limit, root)); };
  ValueId from = image(lower);
  ValueId u = uniform_between(b, draw, full_of(b, draw, from), full_of(b, draw, image(upper)));
  ValueId value = binary(b, kMul, unary(b, kErfInv, u), root);
  auto inside = [&](ValueId limit, double towards) {
    return full_of(b, draw, b.emit1(kNextAfter, {unary(b, kStopGradient, limit), filled(b, b.type(limit), towards)}));
  };
  value = b.emit1(kMaximum, {inside(lower, std::numeric_limits<double>::infinity()), value});
  return {b.emit1(kMinimum, {inside(upper, -std::numeric_limits<double>::infinity()), value})};
}

Values expand_rademacher(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Draw draw = draw_of(b, op, args, attrs, WeakKind::kInteger);
  DType dtype = draw.dtype;
  draw.dtype = default_dtype(WeakKind::kReal, b.config().enable_x64);
  ValueId coin = converted(b, binary(b, kLess, unit_floats(b, draw), 0.5), dtype);
  return {binary(b, kSub, binary(b, kMul, coin, 2.0), 1.0)};
}

// The seed as two words; without x64 it wraps to 32 bits first.
Values expand_key(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t seed = 0;
  if (attrs.has("seed")) {
    seed = attrs.integer("seed");
  } else if (args.size() == 1 && std::holds_alternative<Scalar>(args[0]) &&
             std::holds_alternative<std::int64_t>(std::get<Scalar>(args[0]).value)) {
    seed = std::get<std::int64_t>(std::get<Scalar>(args[0]).value);
  } else {
    throw_user_error("{}: PRNG key seed must be an integer known when the program is built; give it as 'seed'", op.name);
  }
  auto buffer = std::make_shared<Buffer>(8);
  buffer->as<std::uint32_t>()[0] = b.config().enable_x64 ? std::uint32_t(std::uint64_t(seed) >> 32) : 0;
  buffer->as<std::uint32_t>()[1] = std::uint32_t(std::uint64_t(seed));
  auto literal = std::make_shared<const Literal>(Literal{{DType::kUint32, {2}}, std::move(buffer)});
  return b.emit(kConstant, {}, Attrs{{"value", literal}});
}

Values expand_child(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t num = attrs.integer("num", 2), index = attrs.integer("index", 0);
  if (num < 1 || num > 0xffffffff || index < 0 || index >= num)
    throw_user_error("{}: index {} of {} keys; wanted one from 0 on below the number of keys", op.name, index, num);
  return {child_key(b, key_operand(b, op, args[0]), index, num)};
}

constexpr AttrDef kChildAttrs[] = {{"index", AttrDef::Kind::kInteger, false, "which of the keys; the first by default"},
                                   {"num", AttrDef::Kind::kInteger, false, "how many keys there are; 2 by default"}};
constexpr AttrDef kShape = {"shape", AttrDef::Kind::kScalarOrIntegers, false, "the shape of the result; a scalar by default"};
constexpr AttrDef kFloat = {"dtype", AttrDef::Kind::kDType, false, "float32 by default"};
constexpr AttrDef kDrawAttrs[] = {kShape, kFloat};
constexpr AttrDef kUniformAttrs[] = {kShape,
                                     kFloat,
                                     {"minval", AttrDef::Kind::kNumber, false, "the least number; 0 by default"},
                                     {"maxval", AttrDef::Kind::kNumber, false, "all numbers are below; 1 by default"}};
constexpr AttrDef kRandintAttrs[] = {kShape,
                                     {"dtype", AttrDef::Kind::kDType, false, "int32 by default"},
                                     {"minval", AttrDef::Kind::kInteger, false, "the least number, where it is no operand"},
                                     {"maxval", AttrDef::Kind::kInteger, false, "all numbers are below, where it is no operand"}};
constexpr AttrDef kBernoulliAttrs[] = {kShape, {"p", AttrDef::Kind::kNumber, false, "the probability of true; 0.5 by default"}};
constexpr AttrDef kTruncatedAttrs[] = {kShape,
                                       kFloat,
                                       {"lower", AttrDef::Kind::kNumber, false, "the lower limit, where it is no operand"},
                                       {"upper", AttrDef::Kind::kNumber, false, "the upper limit, where it is no operand"}};
constexpr AttrDef kRademacherAttrs[] = {kShape, {"dtype", AttrDef::Kind::kDType, false, "int32 by default"}};
constexpr AttrDef kKeyAttrs[] = {{"seed", AttrDef::Kind::kInteger, false, "a whole number, where it is not the operand"}};
constexpr std::string_view kKeyAliases[] = {"random.PRNGKey"};

constexpr OpDef distribution(std::string_view name, std::string_view doc, std::span<const AttrDef> attrs,
                             Values (*expand)(GraphBuilder&, const OpDef&, Args, const Attrs&), int operands_max = 1) {
  return {.name = name,
          .doc = doc,
          .operands_min = 1,
          .operands_max = operands_max,
          .attrs = attrs,
          .weakness = Weakness::kNever,
          .expand = expand};
}

}  // namespace

extern const OpDef kRandomKey, kRandomUniform, kRandomNormal, kRandomRandint, kRandomBernoulli, kRandomExponential, kRandomGumbel,
    kRandomLaplace, kRandomLogistic, kRandomCauchy, kRandomTruncatedNormal, kRandomRademacher, kRandomChild;

const OpDef kRandomKey = {.name = "random.key",
                          .doc = "A key from a seed: uint32[2].",
                          .aliases = kKeyAliases,
                          .operands_min = 0,
                          .operands_max = 1,
                          .attrs = kKeyAttrs,
                          .weakness = Weakness::kNever,
                          .expand = expand_key};
const OpDef kRandomUniform =
    distribution("random.uniform", "Evenly distributed numbers in [minval, maxval): args key.", kUniformAttrs, expand_uniform, 3);
const OpDef kRandomNormal =
    distribution("random.normal", "Numbers of the standard normal distribution: args key.", kDrawAttrs, expand_normal);
const OpDef kRandomRandint =
    distribution("random.randint", "Whole numbers in [minval, maxval): args key, and minval and maxval where they are arrays.",
                 kRandintAttrs, expand_randint, 3);
const OpDef kRandomBernoulli =
    distribution("random.bernoulli", "True with probability p: args key or key, p.", kBernoulliAttrs, expand_bernoulli, 2);
const OpDef kRandomExponential =
    distribution("random.exponential", "Numbers of the exponential distribution: args key.", kDrawAttrs, expand_exponential);
const OpDef kRandomGumbel = distribution("random.gumbel", "Numbers of the Gumbel distribution: args key.", kDrawAttrs, expand_gumbel);
const OpDef kRandomLaplace = distribution("random.laplace", "Numbers of the Laplace distribution: args key.", kDrawAttrs, expand_laplace);
const OpDef kRandomLogistic =
    distribution("random.logistic", "Numbers of the logistic distribution: args key.", kDrawAttrs, expand_logistic);
const OpDef kRandomCauchy = distribution("random.cauchy", "Numbers of the Cauchy distribution: args key.", kDrawAttrs, expand_cauchy);
const OpDef kRandomTruncatedNormal = distribution("random.truncated_normal", "Normal numbers between two limits: args key, lower, upper.",
                                                  kTruncatedAttrs, expand_truncated_normal, 3);
const OpDef kRandomChild = distribution("random.child", "One of the keys that a key is split into: args key.", kChildAttrs, expand_child);
const OpDef kRandomRademacher = distribution("random.rademacher", "-1 or 1: args key.", kRademacherAttrs, expand_rademacher);

}  // namespace shardlab::ops
