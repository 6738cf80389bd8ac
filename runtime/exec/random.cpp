#include "runtime/exec/random.h"

#include "runtime/exec/op_call.h"

namespace shardlab::random {
namespace {

using detail::one;

Attrs draw_attrs(const Shape& shape, std::optional<DType> dtype) {
  Attrs attrs{{"shape", shape}};
  if (dtype) attrs.set("dtype", *dtype);
  return attrs;
}

}  // namespace

Array key(std::int64_t seed, std::source_location where) {
  return std::move(apply("random.key", {}, Attrs{{"seed", seed}}, Where::from(where)).at(0));
}

std::vector<Array> split(const Operand& key, std::int64_t num) {
  return apply("unstack", {one("random.split", {key}, Attrs{{"num", num}})}, {}, key.where());
}
Array split(const Operand& key, const Shape& shape) {
  Shape keys = shape;
  keys.push_back(2);
  return reshape(Operand(one("random.split", {key}, Attrs{{"num", element_count(shape)}}), key.where()), keys);
}

Array fold_in(const Operand& key, const Operand& data) { return one("random.fold_in", {key, data}, {}); }

namespace {

Array checked_keys(std::string_view api, const Operand& keys) {
  const TensorType type = keys.is_array() ? keys.array().type() : TensorType{};
  if (type.dtype != DType::kUint32 || type.rank() == 0 || type.shape.back() != 2)
    throw_user_error("JAX encountered invalid PRNG key data: {} expects an array with trailing shape (2,) and dtype uint32; got {} [{}]",
                     api, type.text(), keys.where().text());
  return keys.array();
}

Array drawn(std::string_view op, const Operand& key, const Attrs& attrs, const std::optional<OutSharding>& out_sharding) {
  return std::move(apply_to(op, {key}, attrs, key.where(), out_sharding).at(0));
}

}  // namespace

Array key_data(const Operand& keys) { return checked_keys("key_data", keys); }
Array wrap_key_data(const Operand& data) { return checked_keys("wrap_key_data", data); }
Array clone(const Operand& key) { return checked_keys("clone", key); }

Array bits(const Operand& key, const Shape& shape, std::optional<DType> dtype, const OutOptions& options) {
  return drawn("random.bits", key, draw_attrs(shape, dtype), options.out_sharding);
}

Array uniform(const Operand& key, const Shape& shape, const UniformOptions& options) {
  Attrs attrs = draw_attrs(shape, options.dtype);
  if (options.minval != 0) attrs.set("minval", options.minval);
  if (options.maxval != 1) attrs.set("maxval", options.maxval);
  return drawn("random.uniform", key, attrs, options.out_sharding);
}

#define SHARDLAB_DISTRIBUTION(name)                                                                           \
  Array name(const Operand& key, const Shape& shape, std::optional<DType> dtype, const OutOptions& options) { \
    return drawn("random." #name, key, draw_attrs(shape, dtype), options.out_sharding);                       \
  }
SHARDLAB_DISTRIBUTION(normal)
SHARDLAB_DISTRIBUTION(exponential)
SHARDLAB_DISTRIBUTION(gumbel)
SHARDLAB_DISTRIBUTION(laplace)
SHARDLAB_DISTRIBUTION(logistic)
SHARDLAB_DISTRIBUTION(cauchy)
SHARDLAB_DISTRIBUTION(rademacher)
SHARDLAB_DISTRIBUTION(maxwell)
#undef SHARDLAB_DISTRIBUTION

Array truncated_normal(const Operand& key, const Operand& lower, const Operand& upper, const Shape& shape, std::optional<DType> dtype) {
  return one("random.truncated_normal", {key, lower, upper}, draw_attrs(shape, dtype));
}

namespace {

Attrs optional_attrs(const std::optional<Shape>& shape, std::optional<DType> dtype) {
  Attrs attrs;
  if (shape) attrs.set("shape", *shape);
  if (dtype) attrs.set("dtype", *dtype);
  return attrs;
}

// No shape: that of the parameters.
Array with_parameters(std::string_view op, const std::vector<Operand>& operands, const Shape& shape, std::optional<DType> dtype) {
  return one(op, operands, optional_attrs(shape.empty() ? std::nullopt : std::optional(shape), dtype));
}

}  // namespace

Array beta(const Operand& key, const Operand& a, const Operand& b, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.beta", {key, a, b}, shape, dtype);
}
Array binomial(const Operand& key, const Operand& n, const Operand& p, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.binomial", {key, n, p}, shape, dtype);
}
Array chisquare(const Operand& key, const Operand& df, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.chisquare", {key, df}, shape, dtype);
}
Array f(const Operand& key, const Operand& dfnum, const Operand& dfden, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.f", {key, dfnum, dfden}, shape, dtype);
}
Array gamma(const Operand& key, const Operand& a, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.gamma", {key, a}, shape, dtype);
}
Array generalized_normal(const Operand& key, const Operand& p, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.generalized_normal", {key, p}, shape, dtype);
}
Array loggamma(const Operand& key, const Operand& a, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.loggamma", {key, a}, shape, dtype);
}
Array poisson(const Operand& key, const Operand& lam, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.poisson", {key, lam}, shape, dtype);
}
Array t(const Operand& key, const Operand& df, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.t", {key, df}, shape, dtype);
}
Array dirichlet(const Operand& key, const Operand& alpha, const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return one("random.dirichlet", {key, alpha}, optional_attrs(shape, dtype));
}
Array multinomial(const Operand& key, const Operand& n, const Operand& p, const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return one("random.multinomial", {key, n, p}, optional_attrs(shape, dtype));
}
Array ball(const Operand& key, std::int64_t d, double p, const Shape& shape, std::optional<DType> dtype) {
  return one("random.ball", {key}, draw_attrs(shape, dtype).set("d", d).set("p", p));
}
Array double_sided_maxwell(const Operand& key, const Operand& loc, const Operand& scale, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.double_sided_maxwell", {key, loc, scale}, shape, dtype);
}
Array geometric(const Operand& key, const Operand& p, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.geometric", {key, p}, shape, dtype);
}
Array lognormal(const Operand& key, const Operand& sigma, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.lognormal", {key, sigma}, shape, dtype);
}
Array pareto(const Operand& key, const Operand& b, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.pareto", {key, b}, shape, dtype);
}
Array rayleigh(const Operand& key, const Operand& scale, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.rayleigh", {key, scale}, shape, dtype);
}
Array triangular(const Operand& key, const Operand& left, const Operand& mode, const Operand& right, const Shape& shape,
                 std::optional<DType> dtype) {
  return with_parameters("random.triangular", {key, left, mode, right}, shape, dtype);
}
Array wald(const Operand& key, const Operand& mean, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.wald", {key, mean}, shape, dtype);
}
Array weibull_min(const Operand& key, const Operand& scale, const Operand& concentration, const Shape& shape, std::optional<DType> dtype) {
  return with_parameters("random.weibull_min", {key, scale, concentration}, shape, dtype);
}

Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance, const std::optional<Shape>& shape,
                          std::optional<DType> dtype, std::string_view method) {
  return one("random.multivariate_normal", {key, mean, covariance}, optional_attrs(shape, dtype).set("method", std::string(method)));
}
Array orthogonal(const Operand& key, std::int64_t n, const Shape& shape, std::optional<DType> dtype, std::optional<std::int64_t> m) {
  return one("random.orthogonal", {key}, draw_attrs(shape, dtype).set("n", n).set("m", m.value_or(n)));
}
Array randint(const Operand& key, const Shape& shape, std::int64_t minval, std::int64_t maxval, std::optional<DType> dtype,
              const OutOptions& options) {
  return drawn("random.randint", key, draw_attrs(shape, dtype).set("minval", minval).set("maxval", maxval), options.out_sharding);
}
Array randint(const Operand& key, const Shape& shape, const Operand& minval, const Operand& maxval, std::optional<DType> dtype) {
  return one("random.randint", {key, minval, maxval}, draw_attrs(shape, dtype));
}

Array bernoulli(const Operand& key, const Operand& p, const Shape& shape) {
  Attrs attrs;
  if (!shape.empty() || !p.is_array()) attrs.set("shape", shape);
  return one("random.bernoulli", {key, p}, attrs);
}

Array permutation(const Operand& key, std::int64_t n) { return one("random.permutation", {key}, Attrs{{"x", n}}); }

Array permutation(const Operand& key, const Array& x, const PermutationOptions& options) {
  return one("random.permutation", {key, Operand(x)}, Attrs{{"axis", options.axis}, {"independent", options.independent}});
}

namespace {

std::vector<Operand> chosen_from(const Operand& key, std::optional<Array> x, const ChoiceOptions& options) {
  std::vector<Operand> operands{key};
  if (x) operands.emplace_back(*x);
  if (options.p) operands.emplace_back(*options.p);
  return operands;
}

Attrs choice_attrs(const Shape& shape, const ChoiceOptions& options) {
  return Attrs{{"shape", shape}, {"replace", options.replace}, {"axis", options.axis}, {"weighted", options.p.has_value()}};
}

}  // namespace

Array choice(const Operand& key, const Array& x, const Shape& shape, const ChoiceOptions& options) {
  return one("random.choice", chosen_from(key, x, options), choice_attrs(shape, options));
}

Array choice(const Operand& key, std::int64_t n, const Shape& shape, const ChoiceOptions& options) {
  return one("random.choice", chosen_from(key, std::nullopt, options), choice_attrs(shape, options).set("a", n));
}

Array categorical(const Operand& key, const Operand& logits, const CategoricalOptions& options) {
  Attrs attrs{{"axis", options.axis}, {"replace", options.replace}};
  if (options.shape) attrs.set("shape", *options.shape);
  return one("random.categorical", {key, logits}, attrs);
}

}  // namespace shardlab::random
