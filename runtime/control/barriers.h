// Named barriers over some of a job's processes: who comes waits until all that take part have come, or hears why they never will.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardlab::control {

// One process at a barrier.
struct Arrival {
  std::string barrier;
  int process = 0;
  std::vector<int> participants;  // nothing: all processes of the job
  std::chrono::milliseconds timeout{0};
  std::string where;        // the caller's line, for the others; may be empty
  std::uint64_t visit = 0;  // the process's own number of this wait, from 1
};

// Told of who waits, with the lock of the barriers held: hands on quickly and does not call them.
struct BarrierWatch {
  std::function<void(const Arrival& arrival, const std::set<int>& participants)> waits;
  std::function<void(const std::string& barrier)> over;
};

struct BarrierEnd {
  enum class Kind {
    kPassed,
    kTimedOut,
    kRefused,  // what was asked does not make sense, or does not fit what others ask
    kEnded,    // a participant has ended, or waits no more
    kTooMany,  // barriers
  };
  Kind kind = Kind::kPassed;
  std::string why;  // empty where it passed
};

// Thread-safe. A barrier may be used again and again; each time it passes for all or fails for all: who is missing when it fails is told
// so when it comes, and then it is at the next one. It fails when the first limit of those that wait has passed. Answers are given once,
// with the lock held: they hand on quickly and do not call this. Its one thread sleeps until the next limit.
class Barriers {
 public:
  static constexpr std::size_t kNameBytesMax = 1024, kWhereBytesMax = 1024;
  static constexpr std::size_t kBarriersMax = 65536;
  static constexpr std::size_t kMissingNamed = 8;

  using Answer = std::function<void(const BarrierEnd&)>;
  // `describe` says where a process is, for those who miss it ("running, last in sum at toy.cpp:31"); it may be empty.
  explicit Barriers(int num_processes, std::function<std::string(int process)> describe = {}, BarrierWatch told = {});
  ~Barriers();

  // Answers before it returns where there is nothing to wait for, and the ticket is 0.
  std::uint64_t arrive(const Arrival& arrival, Answer answer);
  // Its process waits no more; whether the answer was still to come: it never will.
  bool withdraw(std::uint64_t ticket);

  // Comes to no barrier any more; how: "left the job", "was killed by signal 9".
  void ended(int process, const std::string& how);
  // Another process has its index now.
  void returned(int process);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiter {
    std::uint64_t ticket = 0;
    std::string where;
    Answer answer;
  };
  // `participants` is empty where nobody waits.
  struct Barrier {
    std::set<int> participants;
    std::map<int, Waiter> here;
    int first = -1;                              // to come
    Clock::time_point limit;                     // the first of all
    std::map<int, BarrierEnd> still_to_be_told;  // of a failure before
  };
  using Named = std::map<std::string, Barrier>;

  std::string refusal(const Arrival& arrival, const std::set<int>& participants) const;
  std::string conflict(const Arrival& arrival, const std::set<int>& participants, const Barrier& barrier) const;
  std::string timeout_text(const std::string& name, const Barrier& barrier) const;
  void limit(Named::iterator at, Clock::time_point limit);
  void end(Named::iterator at, const BarrierEnd& how);
  Named::iterator forget_idle(Named::iterator at);  // the next one where nobody needs it any more, else itself
  void watch(std::stop_token stop);

  const int num_processes_;
  const std::function<std::string(int)> describe_;
  const BarrierWatch watched_by_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Named barriers_;
  std::map<std::uint64_t, std::string> barrier_of_;  // by ticket
  std::map<int, std::string> ended_;
  std::set<std::pair<Clock::time_point, std::string>> limits_;  // of barriers where somebody waits
  std::uint64_t next_ticket_ = 1;
  std::jthread watcher_;  // last: it uses all of the above
};

}  // namespace shardlab::control
