// random_gamma: numbers of the gamma distribution, a key each.
#include <cmath>

#include "runtime/ops/derive.h"
#include "runtime/ops/inverse_erf.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/random_draw.h"
#include "runtime/ops/random_keys.h"

namespace shardlab::ops {

extern const OpDef kRandomGammaDraw, kRandomGamma, kRandomLoggamma;

namespace {

// What the words of kernels mean here.
#define FN inline
using u32 = std::uint32_t;
using u64 = std::uint64_t;
struct Words {
  u32 first, second;
};
inline Words threefry(Words key, u32 x0, u32 x1) {
  const ThreefryBlock block = threefry(ThreefryKey{key.first, key.second}, x0, x1);
  return {block.first, block.second};
}
inline u32 original_word(Words key, u64 index, u64 count) { return original_word(ThreefryKey{key.first, key.second}, index, count); }
using std::log, std::log1p, std::pow, std::sqrt;
#include "runtime/ops/gamma_sample.inc"
#undef FN

// Of 16-bit floats as uniform numbers draw them, computed in float.
template <typename T>
constexpr DrawnBits kDrawnBits = std::is_same_v<T, double>    ? DrawnBits{64, 52}
                                 : std::is_same_v<T, float>   ? DrawnBits{32, 23}
                                 : std::is_same_v<T, Float16> ? DrawnBits{16, 10}
                                                              : DrawnBits{8, 7};

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  if (check_keys(op, types[0]) != types[1].shape)
    throw_user_error("{}: one key for each parameter is needed, got {} and {}", op.name, types[0].text(), types[1].text());
  if (!is_floating(types[1].dtype)) throw_user_error("{}: parameters are real numbers, got {}", op.name, types[1].text());
  return {types[1]};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule made(operands, results);
  const int rank = operands[1].rank();
  for (int d = 0; d < rank; ++d) made.add(operands[1].shape[std::size_t(d)], {d, d}, {d});
  made.add(2, {rank, -1}, {-1}, FactorKind::kReplicate);
  return made;
}

void kernel(const KernelArgs& args) {
  const bool is_log = args.attrs.flag("log_space"), original = !args.attrs.flag("partitionable", true);
  const u32* keys = args.operands[0].as<u32>();
  visit_dtype(args.results[0].type.dtype, [&]<typename T>(T) {
    if constexpr (Real<T> || Half<T>) {
      using Wide = std::conditional_t<Half<T>, float, T>;
      for (std::int64_t i = 0; i < args.results[0].type.elements(); ++i) {
        const Wide alpha = Wide(args.operands[1].as<T>()[i]);
        args.results[0].as<T>()[i] = T(gamma_of_key<Wide>({keys[2 * i], keys[2 * i + 1]}, alpha, is_log, kDrawnBits<T>, original));
      }
    } else {
      throw InternalError("gamma numbers of a dtype that the shape rule refuses");
    }
  });
}

// As if the share of the distribution that lies below the number stayed; of a row. Source: JAX's _gamma_grad, a loop on CPUs.
Term derivative_by_alpha(const Term& alpha, const Term& result, bool is_log) {
  GraphBuilder& b = alpha.builder();
  auto in_a_row = [](const Term& of) { return call("found_in_a_row", of); };
  if (!is_log) return in_a_row(call(b, "random_gamma_grad", {in_a_row(alpha), in_a_row(result)}));
  const Term number = call("exp", result), tiny = filled_like(number, number.dtype() == DType::kFloat64   ? 0x1p-1022
                                                                      : number.dtype() == DType::kFloat16 ? 0x1p-14
                                                                                                          : 0x1p-126);
  const Term sample = in_a_row(where(number == 0.0, tiny, number));
  return in_a_row(call(b, "random_gamma_grad", {in_a_row(alpha), sample}) / sample);
}
Values jvp(GraphBuilder& b, const JvpArgs& args) {
  const Term tangent(b, args.tangents[1]), alpha(b, args.operands[1]), result(b, args.results[0]);
  return {(tangent * derivative_by_alpha(alpha, result, args.attrs.flag("log_space"))).id()};
}

// In a row, as JAX draws them: what cuts the parameters' later dimensions cuts no numbers (its _gamma_impl and _gamma_grad).
Term drawn_in_a_row(const Term& keys, const Term& alpha, const Attrs& attrs) {
  auto value = [attrs](const Terms& of) {
    GraphBuilder& b = of[1].builder();
    const Term row(b, b.emit1(kRandomGammaDraw, {reshaped(of[0], {of[1].elements(), 2}).id(), raveled(of[1]).id()}, attrs));
    return reshaped(row, of[1].shape());
  };
  if (alpha.rank() < 2) return value({keys, alpha});
  auto tangent = [is_log = attrs.flag("log_space")](const Terms& of, const Term& number, const Terms& tangents) {
    return tangents[1] * reshaped(derivative_by_alpha(raveled(of[1]), raveled(number), is_log), of[1].shape());
  };
  return with_derivative({keys, alpha}, {value, tangent});
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  auto at_front = [&](std::size_t i) { return Term(b, batched_at(b, args.operands[i], 0, args.size)); };
  return {{drawn_in_a_row(at_front(0), at_front(1), args.attrs).id(), 0}};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  auto add = [&](DType dtype, const Shape& shape, const Attrs& attrs) {
    Shape keys = shape;
    keys.push_back(2);
    all.push_back({{{DType::kUint32, keys}, {dtype, shape}}, attrs});
  };
  for (const Shape& shape : {Shape{4, 6}, Shape{7}, Shape{}, Shape{0, 3}}) add(DType::kFloat32, shape, Attrs{{"log_space", false}});
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kFloat16}) add(dtype, {4, 6}, Attrs{{"log_space", true}});
  add(DType::kFloat32, {8}, Attrs{{"log_space", true}, {"partitionable", false}});
  add(DType::kFloat64, {8}, Attrs{{"log_space", false}, {"partitionable", false}});
  return all;
}

constexpr DrawParameter kA[] = {{"a", {}}};
template <bool kIsLog>
Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Draw draw = drawing(b, op, args, attrs, kA);
  const Term alpha = draw.parameters[0], keys = call("random.split", draw.key, Attrs{{"num", Shape{alpha.elements()}}});
  Attrs own{{"log_space", kIsLog}};
  if (!b.config().threefry_partitionable) own.set("partitionable", false);
  return {drawn_in_a_row(keys, alpha, own).id()};
}

constexpr AttrDef kDrawAttrs[] = {{"log_space", AttrDef::Kind::kFlag, false, "whether the result is the number's logarithm"},
                                  {"partitionable", AttrDef::Kind::kFlag, false, "how counters are laid out; true by default"}};
constexpr AttrDef kGammaAttrs[] = {kDrawShape, kDrawFloat, {"a", AttrDef::Kind::kNumber, false, "the parameter, where it is no operand"}};

}  // namespace

const OpDef kRandomGammaDraw = {.name = "random_gamma",
                                .doc = "A number of the gamma distribution for each key and parameter: args keys, parameters.",
                                .operands_min = 2,
                                .operands_max = 2,
                                .attrs = kDrawAttrs,
                                .weakness = Weakness::kNever,
                                .expand = expand_plain,
                                .infer = infer,
                                .rule = rule,
                                .kernel = kernel,
                                .pass_through = true,  // in JAX a loop of elementwise steps
                                .jvp = jvp,
                                .batch = batch,
                                .samples = samples};
const OpDef kRandomGamma = composite_of({"random.gamma", "The gamma distribution: args key, a.", expand<false>, 1, 2, kGammaAttrs});
const OpDef kRandomLoggamma =
    composite_of({"random.loggamma", "Logarithms of the gamma distribution's numbers: args key, a.", expand<true>, 1, 2, kGammaAttrs});

}  // namespace shardlab::ops
