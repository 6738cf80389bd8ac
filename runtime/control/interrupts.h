// Processes that end because of a signal that asked them to: who tells where all are, and what the others learn of the end.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "runtime/comm/launch.h"

namespace shardlab::control {

// Thread-safe. A terminal, mpirun or a scheduler signals all processes of a host at once: one of them tells.
class Interrupts {
 public:
  // `process` is ended by `signal`. Who is to tell where all are: the first, or the first for a while.
  int came(int process, int signal, comm::Ns now) {
    std::lock_guard lock(mutex_);
    signals_[process] = signal;
    if (!told_ns_ || now - *told_ns_ > kTogetherNs) {
      told_ns_ = now;
      teller_ = process;
    }
    return teller_;
  }
  // The signal that ended it, where it said so before it went; 0: none.
  int signal_of(int process) const {
    std::lock_guard lock(mutex_);
    auto found = signals_.find(process);
    return found == signals_.end() ? 0 : found->second;
  }
  // Another one has its index.
  void forget(int process) {
    std::lock_guard lock(mutex_);
    signals_.erase(process);
  }

 private:
  static constexpr comm::Ns kTogetherNs = 5'000'000'000;
  mutable std::mutex mutex_;
  std::map<int, int> signals_;
  std::optional<comm::Ns> told_ns_;
  int teller_ = 0;
};

}  // namespace shardlab::control
