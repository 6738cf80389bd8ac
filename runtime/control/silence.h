// What users are told of a process that gives no sign of life: information, never a verdict.
#pragma once

#include <atomic>
#include <chrono>
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

// The silence of the coordinator, as one of its processes hears it, whose every heartbeat is answered. Any thread hears, one looks.
class CoordinatorSilence {
 public:
  CoordinatorSilence(std::chrono::milliseconds at_least, std::chrono::milliseconds between_looks)
      : at_least_ns_(std::chrono::nanoseconds(at_least).count()), rare_ns_(2 * std::chrono::nanoseconds(between_looks).count()) {}
  void heard(comm::Ns now) { heard_ns_.store(now, std::memory_order_relaxed); }
  // How long it has lasted, once for each silence. Who looks more rarely than it means to was stopped, or has no time to listen, and starts
  // anew.
  std::optional<double> look(comm::Ns now);

 private:
  const comm::Ns at_least_ns_, rare_ns_;
  std::atomic<comm::Ns> heard_ns_ = 0;
  comm::Ns looked_ns_ = 0, awake_ns_ = 0;
  bool told_ = false;
};

// "process 2 (pid 4711 on node1) has given no sign of life for 3.0 s: it is stopped by a signal (state T); last waiting at toy.cpp:12". Its
// state is known where it runs on this host. `who`: "process 2".
std::string silence_text(const std::string& who, const Member& silent, double silent_ms, const std::string& whereabouts);

}  // namespace shardlab::control
