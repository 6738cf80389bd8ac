#include "runtime/control/member.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <fstream>

namespace shardlab::control {

bool is_told_otherwise(const Member& member, int num_processes) {
  return member.num_processes != 0 && member.num_processes != num_processes;
}

std::optional<std::string> why_no_member(const Member& member, int num_processes, const std::string& as) {
  if (is_told_otherwise(member, num_processes))
    return fmt::format(
        "process {} (pid {} on {}) was started as one of {} (num_processes), and the job was started with {}{}: start all processes with "
        "the same number",
        member.process, member.pid, member.host, member.num_processes, num_processes, as.empty() ? "" : fmt::format(", as {} was", as));
  if (member.process < 0 || member.process >= num_processes)
    return fmt::format("process {} joins a job of {} processes", member.process, num_processes);
  return std::nullopt;
}

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
