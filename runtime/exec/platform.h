// Platforms: the kinds of devices that a process can compute on beside its virtual CPU devices. virtualdev/platforms/list.cpp lists them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/rendezvous.h"
#include "runtime/exec/backend.h"

namespace shardlab {

// Which devices of a job a process's backend is for.
struct PlatformRequest {
  std::vector<int> ordinals;  // of this process's devices, in the order of their local numbers
  int process_index = 0;
  std::shared_ptr<Rendezvous> rendezvous;  // of the job; nothing: a process on its own
};

struct PlatformDef {
  std::string_view name;             // "cuda", as SHARDLAB_PLATFORM and --backend take it
  std::string_view device_platform;  // "gpu", as Device::platform and devices() take it too
  std::string_view doc;              // one line
  // What is missing here, and how to get it; empty: devices can be made.
  std::string (*missing)();
  // How many devices a process has that was not told how many.
  int (*default_device_count)();
  std::shared_ptr<Backend> (*make)(const PlatformRequest&);
};

std::span<const PlatformDef> platforms();

// By name or device_platform; nullptr for "cpu". UserError where there is no such platform.
const PlatformDef* find_platform(std::string_view name);
// The platform that SHARDLAB_PLATFORM names.
const PlatformDef* platform_from_environment();
// UserError that says what is missing and how to go on with CPU devices, unless the platform is there. `asked`: by whom.
void require_platform(const PlatformDef& platform, std::string_view asked);

}  // namespace shardlab
