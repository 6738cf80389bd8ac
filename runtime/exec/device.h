// A device, as users see it.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace shardlab {

struct Device {
  int ordinal = 0;  // place in devices()
  int id = 0;       // the platform's number; not dense where a profile says so
  int process_index = 0;
  int local_index = 0;  // place in its process's local_devices()
  std::string platform = "cpu";
  std::string kind = "cpu";               // "TPU v5 lite"
  std::array<int, 3> coords = {0, 0, 0};  // of its chip in the torus; TPUs alone have them
  int core_on_chip = 0;
  std::string text() const;  // JAX's repr: "CpuDevice(id=0)", "TpuDevice(id=4, process_index=0, coords=(0,1,0), core_on_chip=0)"
  bool operator==(const Device&) const = default;
};

}  // namespace shardlab
