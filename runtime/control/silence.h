// What users are told of a process that gives no sign of life: information, never a verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/control/membership.h"

namespace shardlab::control {

// A silence to be told, by whom: one that is heard, on the same host where there is one, for it can see what the silent one does.
struct SilenceToTell {
  Member silent;
  double silent_ms = 0;
  int teller = 0;
};

// Remembers what has been told. One thread uses it.
class Silences {
 public:
  // Each silence once, when it has lasted `at_least`; again where the process was heard meanwhile. Who looks this rarely has not heard
  // anybody itself meanwhile, and starts anew.
  std::vector<SilenceToTell> look(const Membership& membership, std::chrono::milliseconds at_least, comm::Ns now);

 private:
  comm::Ns looked_ns_ = 0, awake_ns_ = 0;
  std::vector<int> told_;
};

// "process 2 (pid 4711 on node1) has given no sign of life for 3.0 s: it is stopped by a signal (state T); last waiting at toy.cpp:12". Its
// state is known where it runs on this host.
std::string silence_text(const Member& silent, double silent_ms, const std::string& whereabouts);

}  // namespace shardlab::control
