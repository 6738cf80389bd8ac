#include "runtime/exec/device.h"

#include <fmt/format.h>

#include <cctype>

namespace shardlab {

std::string Device::text() const {
  std::string name = platform;
  if (!name.empty()) name[0] = char(std::toupper(static_cast<unsigned char>(name[0])));
  return fmt::format("{}Device(id={})", name, id);
}

}  // namespace shardlab
