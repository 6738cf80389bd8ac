#include "runtime/control/member.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <fstream>

namespace shardlab::control {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("localhost");
}

std::string host_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string identity = fmt::format("{}/{}", host_name(), boot);
  // Shared memory is opened through /proc, which another process namespace hides; another network is how tests imitate a host.
  for (const char* space : {"pid", "net"}) {
    struct stat status;
    if (stat(fmt::format("/proc/self/ns/{}", space).c_str(), &status) == 0) identity += fmt::format("/{}:{}", space, status.st_ino);
  }
  return identity;
}

}  // namespace shardlab::control
