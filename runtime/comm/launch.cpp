#include "runtime/comm/launch.h"

#include <time.h>

namespace shardlab::comm {

Ns now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Ns(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace shardlab::comm
