// Meshes from devices, and placing arrays on them.
#pragma once

#include "runtime/exec/device_mesh.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/positional_sharding.h"
#include "runtime/exec/tree.h"

namespace shardlab {

// The first devices of devices(), or those given, in the order that suits the machine (create_device_mesh). UserError where there are too
// few.
struct MeshOptions {
  std::vector<AxisType> axis_types;  // none: all Auto
  std::vector<Device> devices;       // none: devices()
};
Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, const MeshOptions& options = {},
               std::source_location where = std::source_location::current());
// Their types alone: make_mesh({4, 2}, {"x", "y"}, {AxisType::kExplicit, AxisType::kAuto}). A template, as the braces of options compete
// with no other (g++ 12).
template <std::same_as<AxisType> T>
Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, std::initializer_list<T> axis_types,
               std::source_location where = std::source_location::current()) {
  return make_mesh(std::move(shape), std::move(axis_names), MeshOptions{.axis_types = axis_types, .devices = {}}, where);
}
Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, const std::vector<Device>& devices,
               std::source_location where = std::source_location::current());
// JAX's Mesh(devices, names): the devices as they lie in the array.
Mesh make_mesh(const DeviceGrid& devices, std::vector<std::string> axis_names, std::vector<AxisType> axis_types = {},
               std::source_location where = std::source_location::current());

// Places or moves an array; the result is committed. Across processes all owners of source or target devices must call it. Inside jit it
// is with_sharding_constraint. UserError: a dimension that does not divide.
Array device_put(const Operand& x, const Sharding& sharding);
Array device_put(const Operand& x, const PartitionSpec& spec);  // on x's own mesh
Array device_put(const Operand& x, const Device& device);
// Every leaf of a tree so: device_put(params, NamedSharding(mesh, P())).
template <typename Tree, typename Place>
  requires(!std::convertible_to<const Tree&, Operand>)
Tree device_put(const Tree& tree, const Place& place, std::source_location where = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return device_put(Operand(leaf, where), place); }, tree);
}

template <typename Tree, typename Place>
  requires(!std::convertible_to<const Tree&, Operand>)
Tree with_sharding_constraint(const Tree& tree, const Place& place, std::source_location where = std::source_location::current()) {
  return tree::map([&](const Array& leaf) { return with_sharding_constraint(Operand(leaf, where), place); }, tree);
}

}  // namespace shardlab
