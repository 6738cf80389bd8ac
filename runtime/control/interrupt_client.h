// What a process that a signal ends says to the coordinator, and learns from it: where every process of the job is.
#pragma once

#include <chrono>
#include <string>

#include "runtime/base/where.h"
#include "runtime/control/client.h"

namespace shardlab::control {

struct InterruptAnswer {
  int teller = 0;      // who is to tell where all are: one for all that are ended together
  std::string places;  // for the teller: a line a process
};

// From any thread, over a connection of its own. `at`: where this process is. Throws TransportError where the coordinator does not answer
// within `limit`.
InterruptAnswer tell_interrupt(const ClientOptions& options, int signal, Where at, std::chrono::milliseconds limit);

}  // namespace shardlab::control
