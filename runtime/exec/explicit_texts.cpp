// How errors speak of shardings in types.
#include <fmt/ranges.h>

#include "runtime/exec/explicit_node.h"
#include "runtime/exec/explicit_types.h"

namespace shardlab {

std::string typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (std::size_t d = 0; d < type.shape.size(); ++d)
    dims.push_back(d < spec.size() && !spec[d].empty() ? fmt::format("{}@{}", type.shape[d], axes_text(spec[d], mesh))
                                                       : fmt::format("{}", type.shape[d]));
  return fmt::format("{}[{}]", name_of(type.dtype), fmt::join(dims, ","));
}

std::string failed_assertion_text(std::string_view has, std::string_view wanted) {
  return fmt::format(
      "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The array sharding: {} did not match the "
      "sharding provided: {}. Please use `jax.sharding.reshard` (here `reshard`) to shard your input to the sharding you want",
      has, wanted);
}

std::string explicit_constraint_text(std::string_view spec, const Mesh& mesh, std::string_view explicit_axes) {
  return fmt::format(
      "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh. Got spec={} and mesh={}. You "
      "probably meant to use `reshard` API? ('{}' is Explicit here.)",
      spec, mesh.text(), explicit_axes);
}

std::string reshard_axes_text(std::string_view api, std::string_view spec, std::string_view other_axes) {
  return fmt::format(
      "PartitionSpec passed to {} cannot contain axis names that are of type Auto or Manual. Got PartitionSpec: {} with axis name: {} of "
      "type: AxisType.Auto; leave it out, or hold the value along it with with_sharding_constraint",
      api, spec, other_axes);
}

}  // namespace shardlab
