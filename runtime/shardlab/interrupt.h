// SIGINT and SIGTERM of a process that nobody of ours supervises: a thread is told, and a second one ends the process at once.
#pragma once

#include <functional>
#include <string>

namespace shardlab {

// `on_signal` is called once, from a thread that waits for it, and ends the process. A signal for which the program has a handler of its
// own, or which it ignores, is left alone, and a child that the program forks ends by its signals as if nobody watched. Once in a process.
void watch_interrupts(std::function<void(int signal)> on_signal);

// The program is over but for its last destructors, in which no thread should ask anybody: from now on a signal ends it at once, as it
// would without us, once `places` are told as those of any interrupted process. Nothing where no signal is watched.
void settle_interrupts(const std::string& places);

// Where a signal is being told of, it ends the process: this returns only where none is.
void yield_to_interrupt();

// What a process says that a signal ends. `places`: a line a process.
std::string interrupt_text(int signal, const std::string& places);

}  // namespace shardlab
