#include "runtime/exec/device.h"

#include <fmt/ranges.h>

#include <cctype>

namespace shardlab {

std::string Device::text() const {
  std::string name = platform == "gpu" ? "cuda" : platform;  // the name of its API, as in JAX
  if (!name.empty()) name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
  if (platform != "tpu") return fmt::format("{}Device(id={})", name, id);
  return fmt::format("{}Device(id={}, process_index={}, coords=({}), core_on_chip={})", name, id, process_index, fmt::join(coords, ","),
                     core_on_chip);
}

}  // namespace shardlab
