// PositionalSharding: an array of sets of devices that is reshaped, transposed and replicated like a numpy array.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/exec/device_mesh.h"

namespace shardlab {

// Immutable. The order in which it got its devices never changes, whatever its shape: that is what makes `sharding.reshape(4, 2)` and
// `sharding.T()` go together in one computation. Applied to a value, dimension k is cut into shape()[k] equal parts, and the devices of a
// set hold copies; a value of lower rank takes the last dimensions, if those dropped have size 1.
// Source: jax-ml/jax before 0.5, jax/_src/sharding_impls.py.
class PositionalSharding {
 public:
  // UserError without devices.
  explicit PositionalSharding(const DeviceGrid& grid);
  explicit PositionalSharding(const std::vector<Device>& devices);

  const Shape& shape() const { return shape_; }
  int ndim() const { return int(shape_.size()); }
  // -1 stands for what is left. UserError where the numbers of sets differ.
  PositionalSharding reshape(Shape shape) const;
  template <typename... Sizes>
  PositionalSharding reshape(std::int64_t first, Sizes... rest) const {
    return reshape(Shape{first, std::int64_t(rest)...});
  }
  PositionalSharding transpose(std::vector<int> axes = {}) const;  // none: reversed
  PositionalSharding T() const { return transpose(); }
  // The union of the sets along an axis, or of all.
  PositionalSharding replicate(std::optional<int> axis = std::nullopt, bool keepdims = true) const;

  bool is_fully_replicated() const { return sets_.size() == 1; }
  // "PositionalSharding([[{TPU 0} {TPU 1}]\n                    [{TPU 2} {TPU 3}]])", device ids in order.
  std::string text() const;
  // The same layout on a mesh of the devices in their first order. Its axes are the prime factors of their number, so that reshapes of
  // one object share one mesh.
  // UserError where no mesh says it (3 x 2 sets transposed and reshaped across).
  operator Sharding() const;  // NOLINT: it is a sharding
  bool operator==(const PositionalSharding& other) const;

 private:
  PositionalSharding(std::vector<Device> devices, Shape shape, std::vector<std::vector<int>> sets)
      : devices_(std::move(devices)), shape_(std::move(shape)), sets_(std::move(sets)) {}
  std::vector<Device> devices_;
  Shape shape_;
  std::vector<std::vector<int>> sets_;  // row-major; places in devices_
};

}  // namespace shardlab
