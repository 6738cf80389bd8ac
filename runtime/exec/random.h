// jax.random in C++: random numbers from keys, equal bit for bit to JAX's and the same for every layout of devices.
//
// A key is a uint32[2] array. Inside jit a sharded result is made in place: each device computes its own numbers; so it is where an
// out_sharding says how it lies.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/exec/ops.h"

namespace shardlab::random {

Array key(std::int64_t seed, std::source_location where = std::source_location::current());
// Keys that are independent of each other and of `key`; use each once.
std::vector<Array> split(const Operand& key, std::int64_t num = 2);
// The same keys as one array [shape…, 2], to be placed or mapped over: vmap(f)(split(key, Shape{64})).
Array split(const Operand& key, const Shape& shape);
Array fold_in(const Operand& key, const Operand& data);
// A key as its numbers, uint32[..., 2], and back: here they are the same. UserError where they are no keys.
Array key_data(const Operand& keys);
Array wrap_key_data(const Operand& data);
Array clone(const Operand& key);

// uint32 unless told: uint8, uint16 or, with enable_x64, uint64.
Array bits(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});

struct UniformOptions {
  detail::ByNameOnly by_name{};
  double minval = 0, maxval = 1;
  std::optional<DType> dtype = {};
  std::optional<OutSharding> out_sharding = {};
};
// Numbers in [minval, maxval): uniform(key, {8, 8}, {.minval = -1}).
Array uniform(const Operand& key, const Shape& shape = {}, const UniformOptions& options = {});
Array normal(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array exponential(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array gumbel(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array laplace(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array logistic(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array cauchy(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array rademacher(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array truncated_normal(const Operand& key, const Operand& lower, const Operand& upper, const Shape& shape = {},
                       std::optional<DType> dtype = {});
Array maxwell(const Operand& key, const Shape& shape = {}, std::optional<DType> dtype = {}, const OutOptions& options = {});
// With parameters, numbers or arrays; the shape is that to which they broadcast by default.
Array beta(const Operand& key, const Operand& a, const Operand& b, const Shape& shape = {}, std::optional<DType> dtype = {});
Array binomial(const Operand& key, const Operand& n, const Operand& p, const Shape& shape = {}, std::optional<DType> dtype = {});
Array chisquare(const Operand& key, const Operand& df, const Shape& shape = {}, std::optional<DType> dtype = {});
Array double_sided_maxwell(const Operand& key, const Operand& loc, const Operand& scale, const Shape& shape = {},
                           std::optional<DType> dtype = {});
Array f(const Operand& key, const Operand& dfnum, const Operand& dfden, const Shape& shape = {}, std::optional<DType> dtype = {});
Array gamma(const Operand& key, const Operand& a, const Shape& shape = {}, std::optional<DType> dtype = {});
Array generalized_normal(const Operand& key, const Operand& p, const Shape& shape = {}, std::optional<DType> dtype = {});
Array geometric(const Operand& key, const Operand& p, const Shape& shape = {}, std::optional<DType> dtype = {});
// The logarithms of gamma's numbers, which may be too small themselves.
Array loggamma(const Operand& key, const Operand& a, const Shape& shape = {}, std::optional<DType> dtype = {});
Array lognormal(const Operand& key, const Operand& sigma = 1.0, const Shape& shape = {}, std::optional<DType> dtype = {});
Array pareto(const Operand& key, const Operand& b, const Shape& shape = {}, std::optional<DType> dtype = {});
Array poisson(const Operand& key, const Operand& lam, const Shape& shape = {}, std::optional<DType> dtype = {});
Array rayleigh(const Operand& key, const Operand& scale, const Shape& shape = {}, std::optional<DType> dtype = {});
Array t(const Operand& key, const Operand& df, const Shape& shape = {}, std::optional<DType> dtype = {});
Array triangular(const Operand& key, const Operand& left, const Operand& mode, const Operand& right, const Shape& shape = {},
                 std::optional<DType> dtype = {});
Array wald(const Operand& key, const Operand& mean, const Shape& shape = {}, std::optional<DType> dtype = {});
Array weibull_min(const Operand& key, const Operand& scale, const Operand& concentration, const Shape& shape = {},
                  std::optional<DType> dtype = {});
// Shares that sum to 1; alpha's last dimension is theirs, and not in the shape. How many of n trials have each outcome, whose
// probabilities are p's last dimension; the shape holds it. Points of the unit ball of d dimensions, by the norm of power p.
Array dirichlet(const Operand& key, const Operand& alpha, const std::optional<Shape>& shape = {}, std::optional<DType> dtype = {});
Array multinomial(const Operand& key, const Operand& n, const Operand& p, const std::optional<Shape>& shape = {},
                  std::optional<DType> dtype = {});
Array ball(const Operand& key, std::int64_t d, double p = 2, const Shape& shape = {}, std::optional<DType> dtype = {});
// Normal vectors; `method` (cholesky, eigh or svd) factors the covariance. No shape: that of the parameters without their vectors.
Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance, const std::optional<Shape>& shape = {},
                          std::optional<DType> dtype = {}, std::string_view method = "cholesky");
// Matrices of n rows, with orthonormal columns, or rows where those are fewer.
Array orthogonal(const Operand& key, std::int64_t n, const Shape& shape = {}, std::optional<DType> dtype = {},
                 std::optional<std::int64_t> m = {});
// Whole numbers in [minval, maxval), which are numbers, or arrays that broadcast to the shape.
Array randint(const Operand& key, const Shape& shape, std::int64_t minval, std::int64_t maxval, std::optional<DType> dtype = {},
              const OutOptions& options = {});
Array randint(const Operand& key, const Shape& shape, const Operand& minval, const Operand& maxval, std::optional<DType> dtype = {});
// True with probability p, which is a number or an array that broadcasts to the shape.
Array bernoulli(const Operand& key, const Operand& p = 0.5, const Shape& shape = {});
// The numbers 0 to n - 1 in random order.
Array permutation(const Operand& key, std::int64_t n);
// The parts of an array along an axis in random order: whole rows, or where they are independent each column for itself.
struct PermutationOptions {
  detail::ByNameOnly by_name{};
  std::int64_t axis = 0;
  bool independent = false;
};
Array permutation(const Operand& key, const Array& x, const PermutationOptions& options = {});
// Drawn from the parts of an array along an axis, or from the numbers 0 to n - 1, with replacement unless told.
struct ChoiceOptions {
  detail::ByNameOnly by_name{};
  bool replace = true;
  std::optional<Array> p = {};  // the probability of each; equal by default
  std::int64_t axis = 0;
};
Array choice(const Operand& key, const Array& x, const Shape& shape = {}, const ChoiceOptions& options = {});
Array choice(const Operand& key, std::int64_t n, const Shape& shape = {}, const ChoiceOptions& options = {});
// Places along an axis, each with the probability that softmax gives its logit. The shape is that of the logits without the axis, perhaps
// with further dimensions before them; all of it by default.
struct CategoricalOptions {
  detail::ByNameOnly by_name{};
  std::int64_t axis = -1;
  std::optional<Shape> shape = {};
  bool replace = true;
};
Array categorical(const Operand& key, const Operand& logits, const CategoricalOptions& options = {});

}  // namespace shardlab::random
