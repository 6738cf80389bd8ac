// A process of the job as it introduced itself.
#pragma once

#include <cstdint>
#include <string>

namespace shardlab::control {

struct Member {
  int process = 0;
  std::int64_t pid = 0;
  std::string host;
  int devices = 0;
  std::string host_id;            // equal for processes that can share memory
  std::uint64_t incarnation = 0;  // of an elastic job: another one each time that a process is started
};

// This process's host_id: hosts differ in it, and so do containers and network namespaces of one machine.
std::string host_identity();
std::string host_name();

}  // namespace shardlab::control
