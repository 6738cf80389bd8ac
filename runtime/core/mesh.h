// A mesh: devices laid out along named axes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/axes.h"
#include "runtime/core/tensor_type.h"

namespace shardlab {

// Who decides how values lie along an axis. Auto: propagation. Explicit: the sharding is part of a value's type, given op by op.
// Manual: the program itself, inside shard_map. Source: jax.sharding.AxisType.
enum class AxisType : std::uint8_t { kAuto, kExplicit, kManual };
std::string_view name_of(AxisType type);  // "Auto", "Explicit", "Manual"

// Immutable and cheap to copy. `devices` are ordinals (places in devices()) in mesh order: position p of the mesh is the row-major
// number of its coordinates. A mesh without axes has one device: the "mesh" of an array on a single device.
class Mesh {
 public:
  Mesh();  // one device, ordinal 0, no axes
  // `axis_types`: one an axis, or none: all Auto. Throws UserError where names repeat, sizes are not positive, or the product of sizes is
  // not the number of devices.
  Mesh(Shape shape, std::vector<std::string> axis_names, std::vector<int> devices, std::vector<AxisType> axis_types = {});
  static Mesh single(int device);

  const Shape& shape() const { return data_->shape; }
  const std::vector<std::string>& axis_names() const { return data_->names; }
  const std::vector<int>& devices() const { return data_->devices; }
  int axis_count() const { return int(data_->shape.size()); }
  std::int64_t axis_size(int axis) const { return data_->shape[axis]; }
  int size() const { return int(data_->devices.size()); }
  const std::vector<AxisType>& axis_types() const { return data_->types; }
  bool has_explicit_axes() const;
  bool is_explicit() const;  // all of its axes, at least one
  std::optional<int> axis_index(std::string_view name) const;
  // The coordinate of position p along an axis.
  std::int64_t coordinate(int position, int axis) const { return position / data_->strides[axis] % data_->shape[axis]; }
  // The digit that a piece of an axis has at position p.
  std::int64_t digit(int position, const AxisPiece& piece) const;
  // Position of a device ordinal, or -1.
  int position_of(int device) const;
  AxisPiece whole_axis(int axis) const { return {axis, 1, axis_size(axis)}; }
  std::string text_of(const AxisPiece& piece) const;  // "a", or "a:(1)2" for a sub-axis
  std::string text() const;  // "Mesh('a': 4, 'b': 2)"; with types where one is not Auto, devices where not 0, 1, …
  bool same_devices(const Mesh& other) const { return data_->devices == other.data_->devices; }
  bool operator==(const Mesh& other) const;

 private:
  struct Data {
    Shape shape, strides;
    std::vector<std::string> names;
    std::vector<int> devices;
    std::vector<AxisType> types;
  };
  std::shared_ptr<const Data> data_;
};

// Groups of positions that differ only in the digits of `pieces`, each varied row-major in the order the pieces are named; groups
// ordered by their first position. Source: XLA's replica groups given by mesh axes.
std::vector<std::vector<int>> groups_along(const Mesh& mesh, const Axes& pieces);

}  // namespace shardlab
