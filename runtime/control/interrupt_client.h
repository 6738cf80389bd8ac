// What a process that a signal ends says to the coordinator, and learns from it: where every process of the job is.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/base/where.h"
#include "runtime/control/client.h"

namespace shardlab::control {

// From any thread, over a connection of its own. `at`: where this process is. The text, a line a process; nothing where another process
// tells it. Throws TransportError where the coordinator does not answer within `limit`.
std::optional<std::string> tell_interrupt(const ClientOptions& options, int signal, Where at, std::chrono::milliseconds limit);

}  // namespace shardlab::control
