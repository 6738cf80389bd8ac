// SIGINT and SIGTERM of a process that nobody of ours supervises: a thread is told, and a second one ends the process at once.
#pragma once

#include <functional>

namespace shardlab {

// `on_signal` is called once, from a thread that waits for it, and ends the process. A signal for which the program has a handler of its
// own, or which it ignores, is left alone, and a child that the program forks ends by its signals as if nobody watched. Once in a process.
void watch_interrupts(std::function<void(int signal)> on_signal);

// The program's end has begun: signals end it as they would without us.
void unwatch_interrupts();

// Where a signal is being told of, it ends the process: this returns only where none is.
void yield_to_interrupt();

}  // namespace shardlab
