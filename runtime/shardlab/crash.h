// A process that crashes says in which calls of the program it did: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT.
#pragma once

#include <cstdint>
#include <span>

namespace shardlab {

// `tell` is called with the return addresses of the thread that crashed, innermost first, in a copy of the process, which may hang or crash
// in turn and ends after `kCrashTold` s at the latest; then the signal ends this process as it would have without us. A signal for which
// the program has a handler of its own, or which it ignores, is left alone. Once in a process.
inline constexpr int kCrashTold = 3;
void watch_crashes(void (*tell)(int signal, std::span<const std::uintptr_t> stack));

}  // namespace shardlab
