// Devices laid out as an array, in the order that suits the machine's links (jax.experimental.mesh_utils).
#pragma once

#include <vector>

#include "runtime/core/mesh.h"
#include "runtime/exec/device.h"

namespace shardlab {

// Devices with a shape, row-major; JAX's ndarray of devices.
struct DeviceGrid {
  Shape shape;
  std::vector<Device> devices;
  std::vector<int> ordinals() const;
};

// All `devices` (none: devices()) as an array of this shape. On a CPU or GPU they keep their order; on a TPU rings and the torus decide.
// Axes are assigned to links from the last, which has the heaviest traffic, to the first. UserError: another number of devices than the
// product of `shape`; a torus that cannot be cut so without splitting a physical axis, which v5e and v6e allow by default.
// Source: jax-ml/jax, jax/_src/mesh_utils.py.
DeviceGrid create_device_mesh(const Shape& shape, std::vector<Device> devices = {});

}  // namespace shardlab
