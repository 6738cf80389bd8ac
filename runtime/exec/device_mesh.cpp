#include "runtime/exec/device_mesh.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/exec/context.h"

namespace shardlab {
namespace {

// Orders of known rings: places among the devices sorted by coordinates, x fastest.
const std::vector<int> kTray = {0, 1, 2, 3, 6, 7, 4, 5};  // v2 and v3: 4 chips of 2 cores
const std::vector<int> kRing4 = {0, 1, 3, 2};
const std::vector<int> kRing8 = {0, 1, 2, 3, 7, 6, 5, 4};
const std::vector<int> kRing16 = {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4};

bool is_lite(const Device& device) { return device.kind == "TPU v5 lite" || device.kind == "TPU v6 lite"; }
bool is_tray(const Device& device) { return device.kind == "TPU v2" || device.kind == "TPU v3"; }

std::array<int, 4> place_of(const Device& device) { return {device.coords[2], device.coords[1], device.coords[0], device.core_on_chip}; }

// The known ring for these devices, sorted by coordinates, or nothing.
std::optional<std::vector<int>> ring_for(const Shape& shape, const std::vector<Device>& devices) {
  if (is_tray(devices[0]) && devices.size() == 8) return kTray;
  if (is_lite(devices[0]) && devices.size() == 8) return kRing8;
  const bool is_line = std::count(shape.begin(), shape.end(), std::int64_t(devices.size())) == 1;
  if (is_lite(devices[0]) && devices.size() == 16 && is_line) return kRing16;
  if (is_lite(devices[0]) && devices.size() == 4 && is_line) return kRing4;
  return std::nullopt;
}

// The physical array: extents of (x, y, z, core), and the devices in it, row-major.
struct Torus {
  std::array<std::int64_t, 4> extent = {0, 0, 0, 0};
  std::vector<Device> devices;
};

Torus torus_of(const std::vector<Device>& devices) {
  std::array<int, 4> low = {devices[0].coords[0], devices[0].coords[1], devices[0].coords[2], devices[0].core_on_chip}, high = low;
  auto coordinates = [](const Device& d) { return std::array<int, 4>{d.coords[0], d.coords[1], d.coords[2], d.core_on_chip}; };
  for (const Device& device : devices)
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = std::min(low[k], coordinates(device)[k]);
      high[k] = std::max(high[k], coordinates(device)[k]);
    }
  Torus torus;
  std::size_t cells = 1;
  for (std::size_t k = 0; k < 4; ++k) cells *= std::size_t(torus.extent[k] = high[k] - low[k] + 1);
  if (cells != devices.size())
    throw_user_error("create_device_mesh: the {} devices do not fill a box of the torus ({} places); give devices that form a full block",
                     devices.size(), cells);
  torus.devices.resize(cells);
  for (const Device& device : devices) {
    std::int64_t index = 0;
    for (std::size_t k = 0; k < 4; ++k) index = index * torus.extent[k] + coordinates(device)[k] - low[k];
    torus.devices[std::size_t(index)] = device;
  }
  return torus;
}

// Per physical axis the part of it that one logical axis takes.
using Parts = std::array<std::int64_t, 4>;

// Whole physical axes whose product is `size`: most axes first, then the earlier ones.
std::optional<Parts> whole_axes(const std::array<std::int64_t, 4>& left, const std::array<std::int64_t, 4>& extent, std::int64_t size) {
  std::optional<Parts> best;
  int best_count = 0;
  for (int subset = 15; subset >= 1; --subset) {  // bit 3 is x: a larger number names earlier axes
    Parts parts = {1, 1, 1, 1};
    std::int64_t product = 1;
    int count = 0;
    bool is_free = true;
    for (std::size_t k = 0; k < 4; ++k) {
      if ((subset >> (3 - k) & 1) == 0) continue;
      is_free &= left[k] == extent[k];
      product *= parts[k] = extent[k];
      ++count;
    }
    if (!is_free || product != size || count <= best_count) continue;
    best = parts;
    best_count = count;
  }
  return best;
}

// Any parts of axes whose product is `size`; what JAX prefers: the larger part made of whole axes, then more whole axes, then fewer
// shared ones, then the lexicographically larger.
std::optional<Parts> split_axes(const std::array<std::int64_t, 4>& left, const std::array<std::int64_t, 4>& extent, std::int64_t size) {
  using Rank = std::tuple<std::int64_t, int, int, Parts>;
  std::optional<Rank> best;
  Parts parts = {1, 1, 1, 1};
  auto visit = [&](auto& self, std::size_t k, std::int64_t rest) -> void {
    if (k == 4) {
      if (rest != 1) return;
      std::int64_t whole_size = 1;
      int whole = 0, shared = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        if (parts[i] == 1) continue;
        if (parts[i] == extent[i]) {
          whole_size *= parts[i];
          ++whole;
        } else if (left[i] != extent[i]) {
          ++shared;
        }
      }
      Rank rank{whole_size, whole, -shared, parts};
      if (!best || rank > *best) best = rank;
      return;
    }
    for (std::int64_t part = 1; part <= rest && part <= left[k]; ++part) {
      if (rest % part != 0 || left[k] % part != 0) continue;
      parts[k] = part;
      self(self, k + 1, rest / part);
    }
    parts[k] = 1;
  };
  visit(visit, 0, size);
  if (!best) return std::nullopt;
  return std::get<Parts>(*best);
}

std::vector<Device> order_on_torus(const Shape& shape, const std::vector<Device>& devices) {
  const Torus torus = torus_of(devices);
  std::array<std::int64_t, 4> left = torus.extent;
  std::vector<Parts> taken(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    auto parts = whole_axes(left, torus.extent, shape[axis]);
    if (!parts && shape[axis] == 1) parts = Parts{1, 1, 1, 1};
    if (!parts && is_lite(devices[0])) parts = split_axes(left, torus.extent, shape[axis]);
    if (!parts)
      throw_user_error(
          "Failed to find assignment for logical_axis_index {} of size {} with remaining assignable mesh {}x{}x{}x{} (x, y, z, core) of a "
          "{}; give a shape whose axes are products of whole physical axes, or a Mesh of devices in an order of your own",
          axis, shape[axis], left[0], left[1], left[2], left[3], devices[0].kind);
    taken[axis] = *parts;
    for (std::size_t k = 0; k < 4; ++k) left[k] /= (*parts)[k];
  }
  // A physical axis is cut into its logical parts, earlier ones major; a logical axis runs over its parts, x major.
  std::vector<Device> ordered;
  for (std::int64_t position = 0; position < std::int64_t(devices.size()); ++position) {
    std::int64_t rest = position;
    std::vector<Parts> digits(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;)
      for (std::size_t k = 4; k-- > 0;) {
        digits[axis][k] = rest % taken[axis][k];
        rest /= taken[axis][k];
      }
    std::int64_t index = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      std::int64_t coordinate = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) coordinate = coordinate * taken[axis][k] + digits[axis][k];
      index = index * torus.extent[k] + coordinate;
    }
    ordered.push_back(torus.devices[std::size_t(index)]);
  }
  return ordered;
}

}  // namespace

std::vector<int> DeviceGrid::ordinals() const {
  std::vector<int> ordinals;
  for (const Device& device : devices) ordinals.push_back(device.ordinal);
  return ordinals;
}

DeviceGrid create_device_mesh(const Shape& shape, std::vector<Device> devices) {
  if (devices.empty()) devices = Context::current().devices();
  if (element_count(shape) != std::int64_t(devices.size()))
    throw_user_error("Number of devices {} must equal the product of mesh_shape {}; name fewer devices or another shape", devices.size(),
                     text_of(shape));
  if (devices[0].platform != "tpu") return {shape, std::move(devices)};
  std::sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) { return place_of(a) < place_of(b); });
  auto ring = ring_for(shape, devices);
  if (!ring) return {shape, order_on_torus(shape, devices)};
  DeviceGrid grid{shape, {}};
  for (int place : *ring) grid.devices.push_back(devices[std::size_t(place)]);
  return grid;
}

}  // namespace shardlab
