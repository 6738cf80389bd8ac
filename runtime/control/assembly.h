// Who lives in an elastic job: processes enter, gather, die and come again as another incarnation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/member.h"

namespace shardlab::control {

// What all that gathered are told alike. With another set of processes than before, or when something had failed, a new epoch begins: its
// members know each other by its number, and nobody of an older one is heard in it.
struct Gathered {
  std::int64_t epoch = 0;
  std::vector<int> live;  // ascending; closing: of those that began the epoch
  bool whole = true;      // closing: all that began the epoch close it
};

// How a process ended that lives no more; without a code where it has not come yet.
struct Ended {
  int exit_code = 0, signal = 0;
  bool left = false;
};

// Thread-safe. Epoch 0 has all processes. A round of opening is over when everybody who lives has come to it; a round of closing when all
// that began the epoch have come to close it, or one of them has ended, or come to open another.
class Assembly {
 public:
  using Answer = std::function<void(const Gathered&)>;  // with the lock held: hand on quickly
  struct Entry {
    bool again = false;           // somebody else had the index before
    std::vector<Member> members;  // then: of the whole job
    std::optional<int> replaced;  // the one before still counted as alive, and does no more
    std::string refused;          // why it may not enter; nothing where it may
  };

  // `begin` prepares an epoch before anybody hears of it.
  Assembly(int num_processes, std::function<void(const Gathered&, const std::vector<Ended>& ended)> begin);

  Entry enter(const Member& member);
  // Nothing for one that is no more the process of its index.
  void gather(int process, std::uint64_t incarnation, bool closing, bool renew, Answer answer);
  void left(int process, std::uint64_t incarnation);
  // Whatever incarnation of it lives.
  void died(int process, Ended how);
  // That one alone; false where another has taken its place, or it lives no more.
  bool vanished(int process, std::uint64_t incarnation, Ended how);

  // It says nothing more; how it ended is told by died().
  void silenced(int process, std::uint64_t incarnation);

  bool is_current(int process, std::uint64_t incarnation) const;
  bool is_alive(int process) const;
  std::optional<Ended> ended(int process) const;  // nothing while it lives
  // Waits until somebody has entered and nobody lives any more.
  bool wait_deserted(std::chrono::milliseconds limit) const;

 private:
  struct Process {
    std::optional<Member> member;
    std::uint64_t incarnation = 0;
    bool alive = false;
    Ended ended;
    bool in_epoch = true;  // this incarnation began the epoch
    bool waiting = false, closing = false;
    Answer answer;
  };
  void end(int process);
  void settle();
  void answer(Process& process, const Gathered& gathered);
  std::vector<int> living() const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::function<void(const Gathered&, const std::vector<Ended>&)> begin_;
  std::vector<Process> processes_;
  std::int64_t epoch_ = 0;
  bool broken_ = false;  // somebody who began the epoch has ended, or says that it failed
};

}  // namespace shardlab::control
