// A process of the job as it introduced itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shardlab::control {

struct Member {
  int process = 0;
  std::int64_t pid = 0;
  std::string host;
  int devices = 0;
  std::string host_id;            // equal for processes that can share memory
  std::uint64_t incarnation = 0;  // of an elastic job: another one each time that a process is started
  int num_processes = 0;          // of the job, as it was told; 0: it does not say
};

// Whether it was started as one of another number of processes.
bool is_told_otherwise(const Member& member, int num_processes);
// Why one that introduces itself so is none of a job of `num_processes`; nothing where it may be. `as`: who was told that number, too.
std::optional<std::string> why_no_member(const Member& member, int num_processes, const std::string& as = "");

// This process's host_id: hosts differ in it, and so do containers and network namespaces of one machine.
std::string host_identity();
std::string host_name();

}  // namespace shardlab::control
