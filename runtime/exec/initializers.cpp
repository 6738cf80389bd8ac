#include "runtime/exec/initializers.h"

#include "runtime/exec/op_call.h"

namespace shardlab::initializers {
namespace {

using detail::one;

Attrs attrs_of(const Shape& shape, const WeightOptions& options) {
  Attrs attrs{{"shape", shape}, {"out_axis", options.out_axis}, {"batch_axis", options.batch_axis}};
  if (options.in_axis != std::vector<std::int64_t>{-2}) attrs.set("in_axis", options.in_axis);
  if (options.dtype) attrs.set("dtype", *options.dtype);
  return attrs;
}

}  // namespace

Array variance_scaling(const Operand& key, const Shape& shape, double scale, std::string_view mode, std::string_view distribution,
                       const WeightOptions& options) {
  return one("initializers.variance_scaling", {key},
             attrs_of(shape, options).set("scale", scale).set("mode", std::string(mode)).set("distribution", std::string(distribution)));
}

#define SHARDLAB_WEIGHTS(name)                                                       \
  Array name(const Operand& key, const Shape& shape, const WeightOptions& options) { \
    return one("initializers." #name, {key}, attrs_of(shape, options));              \
  }
SHARDLAB_WEIGHTS(glorot_uniform)
SHARDLAB_WEIGHTS(glorot_normal)
SHARDLAB_WEIGHTS(lecun_uniform)
SHARDLAB_WEIGHTS(lecun_normal)
SHARDLAB_WEIGHTS(he_uniform)
SHARDLAB_WEIGHTS(he_normal)
#undef SHARDLAB_WEIGHTS

Array orthogonal(const Operand& key, const Shape& shape, double scale, std::int64_t column_axis, std::optional<DType> dtype) {
  Attrs attrs{{"shape", shape}, {"scale", scale}, {"column_axis", column_axis}};
  if (dtype) attrs.set("dtype", *dtype);
  return one("initializers.orthogonal", {key}, attrs);
}

}  // namespace shardlab::initializers
