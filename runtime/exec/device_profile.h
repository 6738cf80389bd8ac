// Device profiles: virtual devices that carry the numbers, kinds and torus coordinates of real machines, so that device orders and
// printed pictures are those of the machine that a program is meant for.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/exec/device.h"

namespace shardlab {

// A machine. Chips fill `chips` with x fastest; a host owns a block `host_chips` of them; `cores` devices a chip. A profile without chips
// fits any number of devices.
struct DeviceProfile {
  std::string_view name;      // "v5e-4x4"
  std::string_view doc;       // one line
  std::string_view platform;  // "tpu"
  std::string_view kind;      // JAX's device_kind, "TPU v5 lite"
  std::array<int, 3> chips = {0, 0, 0};
  std::array<int, 3> host_chips = {0, 0, 0};
  int cores = 1;
  int process_stride = 0;  // without chips: id = process * stride + local number; 0: ids are dense
  int device_count() const { return chips[0] * chips[1] * chips[2] * cores; }
};

std::span<const DeviceProfile> device_profiles();
// UserError with the nearest name and the list.
const DeviceProfile& find_device_profile(std::string_view name);

// The devices of a job in the order of devices(): by process, then id. A process owns whole hosts' devices in the hosts' order. UserError
// where the profile has another number of devices.
std::vector<Device> make_devices(const DeviceProfile& profile, const std::vector<int>& devices_per_process);

}  // namespace shardlab
