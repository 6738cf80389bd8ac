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
};

}  // namespace shardlab::control
