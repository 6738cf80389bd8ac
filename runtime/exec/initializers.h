// jax.nn.initializers in C++: weights equal to JAX's numbers.
//
// Weights are drawn so that sums over in_axis, which out_axis are the results of, spread as the values that are summed do. Dimensions of
// neither belong to both, as those of a window do; weights of batch_axis are drawn for themselves.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/exec/ops.h"

namespace shardlab::initializers {

struct WeightOptions {
  detail::ByNameOnly by_name{};
  std::vector<std::int64_t> in_axis = {-2}, out_axis = {-1}, batch_axis = {};
  std::optional<DType> dtype = {};
};
// `mode`: fan_in, fan_out, fan_avg or fan_geo_avg; `distribution`: uniform, normal or truncated_normal.
Array variance_scaling(const Operand& key, const Shape& shape, double scale, std::string_view mode, std::string_view distribution,
                       const WeightOptions& options = {});
Array glorot_uniform(const Operand& key, const Shape& shape, const WeightOptions& options = {});
Array glorot_normal(const Operand& key, const Shape& shape, const WeightOptions& options = {});
Array lecun_uniform(const Operand& key, const Shape& shape, const WeightOptions& options = {});
Array lecun_normal(const Operand& key, const Shape& shape, const WeightOptions& options = {});
Array he_uniform(const Operand& key, const Shape& shape, const WeightOptions& options = {});
Array he_normal(const Operand& key, const Shape& shape, const WeightOptions& options = {});
// Columns along column_axis are orthonormal, or rows where those are fewer.
Array orthogonal(const Operand& key, const Shape& shape, double scale = 1, std::int64_t column_axis = -1, std::optional<DType> dtype = {});

}  // namespace shardlab::initializers
