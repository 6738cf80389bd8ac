#include "runtime/exec/platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace shardlab {

const PlatformDef* find_platform(std::string_view name) {
  if (name == "cpu") return nullptr;
  std::vector<std::string_view> names{"cpu"};
  for (const PlatformDef& platform : platforms()) {
    if (name == platform.name || name == platform.device_platform) return &platform;
    names.push_back(platform.name);
  }
  throw_user_error("there is no platform '{}'{}; the platforms are {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

const PlatformDef* platform_from_environment() {
  const char* text = std::getenv("SHARDLAB_PLATFORM");
  return text == nullptr || *text == '\0' ? nullptr : find_platform(text);
}

void require_platform(const PlatformDef& platform, std::string_view asked) {
  std::string missing = platform.missing();
  if (missing.empty()) return;
  throw_user_error(
      "{}: there are no {} devices: {}. To go on with virtual CPU devices, leave SHARDLAB_PLATFORM and --backend away, or say cpu", asked,
      platform.name, missing);
}

}  // namespace shardlab
