// A device, as users see it.
#pragma once

#include <string>
#include <vector>

namespace shardlab {

struct Device {
  int ordinal = 0;  // place in devices()
  int id = 0;       // the platform's number; not dense where a profile says so
  int process_index = 0;
  int local_index = 0;  // place in its process's local_devices()
  std::string platform = "cpu";
  std::string text() const;  // "CpuDevice(id=0)"
  bool operator==(const Device&) const = default;
};

}  // namespace shardlab
