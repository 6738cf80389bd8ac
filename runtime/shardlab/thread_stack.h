// Where another thread of this process is.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace shardlab {

// Return addresses of the thread's functions, innermost first; none where it does not answer in time, or the program uses the signal
// (SIGURG). The thread is interrupted for a moment, wherever it is, and may hold any lock: for a process that is over anyway.
std::vector<std::uintptr_t> stack_of(pthread_t thread, std::chrono::milliseconds limit);

}  // namespace shardlab
