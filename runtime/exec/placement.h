// Meshes from devices, and placing arrays on them.
#pragma once

#include "runtime/exec/operand.h"

namespace shardlab {

// Devices in mesh order default to the first ones of devices(). UserError where there are too few.
Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, std::source_location where = std::source_location::current());
Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, const std::vector<Device>& devices);

// Places or moves an array; the result is committed. Across processes all owners of source or target devices must call it. Inside jit it
// is with_sharding_constraint. UserError: a dimension that does not divide.
Array device_put(const Operand& x, const Sharding& sharding);
Array device_put(const Operand& x, const PartitionSpec& spec);  // on x's own mesh
Array device_put(const Operand& x, const Device& device);

}  // namespace shardlab
