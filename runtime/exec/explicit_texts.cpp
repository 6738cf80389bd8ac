// How errors speak of shardings in types.
#include <fmt/ranges.h>

#include "runtime/exec/context_mesh.h"
#include "runtime/exec/explicit_node.h"
#include "runtime/exec/explicit_types.h"

namespace shardlab {

namespace {

std::string dims_text(const Shape& shape, const Spec& spec, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (std::size_t d = 0; d < shape.size(); ++d)
    dims.push_back(d < spec.size() && !spec[d].empty() ? fmt::format("{}@{}", shape[d], axes_text(spec[d], mesh))
                                                       : fmt::format("{}", shape[d]));
  return fmt::format("[{}]", fmt::join(dims, ","));
}

// "f32" of "float32". Source: dtypes.short_dtype_name in JAX.
std::string short_name(DType dtype) {
  std::string name(name_of(dtype));
  for (const auto& [word, letters] :
       {std::pair("bfloat", "bf"), std::pair("float", "f"), std::pair("uint", "u"), std::pair("int", "i"), std::pair("complex", "c")})
    if (name.starts_with(word)) return letters + name.substr(std::string_view(word).size());
  return name;
}

}  // namespace

std::string typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh) {
  return std::string(name_of(type.dtype)) + dims_text(type.shape, spec, mesh);
}

std::string short_typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh) {
  return short_name(type.dtype) + dims_text(type.shape, spec, mesh);
}

std::string abstract_sharding_text(const Spec& spec, const Mesh& mesh) {
  return fmt::format("NamedSharding(mesh={}, spec={})", AbstractMesh(mesh).text(), text_of(spec, mesh));
}

std::string indivisible_text(std::string_view word, std::size_t dim, const TensorType& operand, const Spec& spec, const Shape& result,
                             const Mesh& mesh) {
  return fmt::format(
      "{} on sharded dims where out dim ({}) is not divisible by mesh axes ({}) with spec ({}) is not implemented. Got input type={} and "
      "output shape={}",
      word, result[dim], part_count(spec[dim]), axes_text(spec[dim], mesh), short_typed_text(operand, spec, mesh), text_of(result));
}

std::string uneven_text(const Spec& spec, const Shape& shape, const Mesh& mesh) {
  for (std::size_t d = 0; d < spec.size(); ++d)
    if (const std::int64_t parts = part_count(spec[d]); shape[d] % parts != 0)
      return fmt::format(
          "Sharding spec {} implies that array axis {} is partitioned {} times, but does not evenly divide the dimension size {}. Got "
          "shape: {} and sharding {}",
          text_of(Spec{spec[d]}, mesh).substr(1), d, parts, shape[d], text_of(shape), abstract_sharding_text(spec, mesh));
  return "";
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
