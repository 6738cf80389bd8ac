// JAX's other names of functions that are here: those of the array API (acos, concat, pow), of jax.lax (add, eq, neg), and of
// jax.nn and jax.scipy.special where jax.numpy has another one (sigmoid, expit).
#pragma once

#include "runtime/exec/array_ops.h"
#include "runtime/exec/initializers.h"
#include "runtime/exec/lax.h"
#include "runtime/exec/numpy.h"
#include "runtime/exec/random.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/statistics.h"

namespace shardlab {

#define SHARDLAB_ALIAS(name, of) \
  inline Array name(const Operand& x) { return of(x); }
SHARDLAB_ALIAS(absolute, abs)
SHARDLAB_ALIAS(acos, arccos)
SHARDLAB_ALIAS(acosh, arccosh)
SHARDLAB_ALIAS(around, round)
SHARDLAB_ALIAS(asin, arcsin)
SHARDLAB_ALIAS(asinh, arcsinh)
SHARDLAB_ALIAS(atan, arctan)
SHARDLAB_ALIAS(atanh, arctanh)
SHARDLAB_ALIAS(bessel_i0e, i0e)
SHARDLAB_ALIAS(bessel_i1e, i1e)
SHARDLAB_ALIAS(bitwise_invert, invert)
SHARDLAB_ALIAS(bitwise_not, invert)
SHARDLAB_ALIAS(conjugate, conj)
SHARDLAB_ALIAS(degrees, rad2deg)
SHARDLAB_ALIAS(erfinv, erf_inv)
SHARDLAB_ALIAS(expit, logistic)
SHARDLAB_ALIAS(gammaln, lgamma)
SHARDLAB_ALIAS(hard_swish, hard_silu)
SHARDLAB_ALIAS(is_finite, isfinite)
SHARDLAB_ALIAS(neg, negative)
SHARDLAB_ALIAS(radians, deg2rad)
SHARDLAB_ALIAS(sigmoid, logistic)
SHARDLAB_ALIAS(swish, silu)
#undef SHARDLAB_ALIAS

#define SHARDLAB_ALIAS(name, of) \
  inline Array name(const Operand& x, const Operand& y) { return of(x, y); }
SHARDLAB_ALIAS(atan2, arctan2)
SHARDLAB_ALIAS(bitwise_left_shift, left_shift)
SHARDLAB_ALIAS(bitwise_right_shift, right_shift)
SHARDLAB_ALIAS(div, divide)
SHARDLAB_ALIAS(eq, equal)
SHARDLAB_ALIAS(ge, greater_equal)
SHARDLAB_ALIAS(gt, greater)
SHARDLAB_ALIAS(le, less_equal)
SHARDLAB_ALIAS(lt, less)
SHARDLAB_ALIAS(mod, remainder)
SHARDLAB_ALIAS(mul, multiply)
SHARDLAB_ALIAS(ne, not_equal)
SHARDLAB_ALIAS(pow, power)
SHARDLAB_ALIAS(shift_left, left_shift)
SHARDLAB_ALIAS(shift_right_arithmetic, right_shift)
SHARDLAB_ALIAS(sub, subtract)
SHARDLAB_ALIAS(true_divide, divide)
#undef SHARDLAB_ALIAS

// Reductions take what max and min do: amax(x, 0), amax(x, {.axis = 0, .keepdims = true}).
inline Array amax(const Operand& x, const ReduceOptions& options = {}) { return max(x, options); }
inline Array amin(const Operand& x, const ReduceOptions& options = {}) { return min(x, options); }
template <std::convertible_to<AxisList> Axis>
Array amax(const Operand& x, const Axis& axis) {
  return max(x, axis);
}
template <std::convertible_to<AxisList> Axis>
Array amin(const Operand& x, const Axis& axis) {
  return min(x, axis);
}

inline Array bitwise_count(const Operand& x) { return astype(population_count(x), uint8); }  // jax.numpy's dtype
inline Array bitcast_convert_type(const Operand& x, DType dtype) { return bitcast(x, dtype); }
inline Array convert_element_type(const Operand& x, DType dtype) { return astype(x, dtype); }
inline Array concat(const Operands& arrays, std::int64_t axis = 0) { return concatenate(arrays, axis); }
inline Array empty_like(const Operand& x, std::optional<DType> dtype = {}) { return zeros_like(x, dtype); }
inline Array permute_dims(const Operand& x, const std::vector<std::int64_t>& axes) { return transpose(x, axes); }
inline Array broadcasted_iota(DType dtype, const Shape& shape, std::int64_t dimension,
                              std::source_location where = std::source_location::current()) {
  return iota(dtype, shape, dimension, {}, where);
}
inline Array cumulative_sum(const Operand& x, const AxisList& axis = AxisList::all()) { return cumsum(x, axis); }
inline Array cumulative_prod(const Operand& x, const AxisList& axis = AxisList::all()) { return cumprod(x, axis); }

// The shape to which all broadcast. UserError with JAX's text where they do not.
Shape broadcast_shapes(const std::vector<Shape>& shapes, std::source_location where = std::source_location::current());

// Dimension `axis` of x, as long as the mesh axis, changed places with it: an all-to-all.
inline Array pswapaxes(const Operand& x, const AxisNames& axes, int axis) {
  return all_to_all(x, axes, {.split_axis = axis, .concat_axis = axis});
}

namespace initializers {
#define SHARDLAB_ALIAS(name, of) \
  inline Array name(const Operand& key, const Shape& shape, const WeightOptions& options = {}) { return of(key, shape, options); }
SHARDLAB_ALIAS(kaiming_normal, he_normal)
SHARDLAB_ALIAS(kaiming_uniform, he_uniform)
SHARDLAB_ALIAS(xavier_normal, glorot_normal)
SHARDLAB_ALIAS(xavier_uniform, glorot_uniform)
#undef SHARDLAB_ALIAS
}  // namespace initializers

namespace random {
inline Array PRNGKey(std::int64_t seed, std::source_location where = std::source_location::current()) { return key(seed, where); }
}  // namespace random

}  // namespace shardlab
