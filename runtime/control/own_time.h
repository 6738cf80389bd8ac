// How much time a process has had for itself: what its threads spent ready to run, without a processor, does not count.
#pragma once

#include <chrono>

namespace shardlab::control {

// A limit on somebody else's progress, in this time, means the same on a quiet machine and on an overloaded one. Not thread-safe.
class OwnTime {
 public:
  OwnTime();
  // Since the last lap, or since the beginning: processor time while a thread of the process wants a processor, else the time of the
  // clock. The calling thread, which only measures, is left out. Laps of a few milliseconds are told truly, longer ones may be too short.
  std::chrono::nanoseconds lap();

 private:
  std::chrono::steady_clock::time_point wall_;
  std::chrono::nanoseconds processor_;
};

}  // namespace shardlab::control
