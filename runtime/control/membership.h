// Who has joined a job, who still gives signs of life, and who has gone without a word.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/control/member.h"

namespace shardlab::control {

// A process's open stream. Called with the membership's lock held: hand on quickly.
class Attendant {
 public:
  virtual ~Attendant() = default;
  virtual void roll(const std::vector<Member>& joined, int num_processes) = 0;
  // Another process gives no sign of life, which this one is to tell its user.
  virtual void silence(const Member& silent, double silent_ms, const std::string& whereabouts) = 0;
  // They were not told the same number of processes, or two of them one number of their own, and the job does not begin.
  virtual void disagreement(const std::string& what) = 0;
};

struct SilentProcess {
  int process = 0;
  double silent_ms = 0;
};

struct MembershipOptions {
  int num_processes = 1;
  std::vector<int> participants;         // those that may join; empty: all
  std::chrono::milliseconds grace{0};    // from a broken stream to a death, when nobody reported one
  std::chrono::milliseconds silence{0};  // so long without a word before the stream broke is a silence; 0: none is
  // Without locks; when the stream broke, and whether it had been silent before, as one is that is stopped or cut off.
  std::function<void(int process, comm::Ns, bool silent)> on_gone;
};

// Thread-safe. Its one thread sleeps until a stream breaks, and tells of those whose death nobody reports within the grace.
class Membership {
 public:
  explicit Membership(MembershipOptions options);
  ~Membership();

  // How many are to join.
  int expected() const { return options_.participants.empty() ? options_.num_processes : int(options_.participants.size()); }
  bool is_process(int index) const { return index >= 0 && index < options_.num_processes; }
  // Nothing where it is welcome, and everybody is told; else why not. That two have one number is told to the others too, as in refuse().
  std::optional<std::string> join(const Member& member, Attendant* attendant);
  // The same without joining. One who was told another number of processes than the others is told of to them too, unless all that were to
  // join have.
  std::optional<std::string> refuse(const Member& member);
  // Whether one has come who was told another number of processes, or another one's own.
  bool disagree() const;
  void heard(int process, comm::Ns now);
  void stream_ended(int process);
  // Its stream is no more; it is told nothing any more.
  void forget(int process, const Attendant* attendant);
  // Its death is told by others. Waits up to `drain` of this process's own time for the end of its stream, by which its last words come.
  void reported(int process, std::chrono::milliseconds drain);
  // Nobody is taken for gone any more.
  void stop_watching();

  std::vector<Member> members() const;  // those that have joined, by index
  std::vector<int> missing() const;     // those that have not
  bool wait_joined(std::chrono::milliseconds limit) const;
  // Waits until every process that joined has gone.
  bool wait_deserted(std::chrono::milliseconds limit) const;
  std::vector<SilentProcess> silent(std::chrono::milliseconds at_least, comm::Ns now = comm::now_ns()) const;
  bool attends(int process) const;
  void tell_silence(int teller, const Member& silent, double silent_ms, const std::string& whereabouts) const;

 private:
  struct Process {
    std::optional<Member> member;
    Attendant* attendant = nullptr;
    bool attending = false;  // its stream is open
    bool reported = false;   // its death was reported
    bool gone = false;       // the stream broke and that was taken as its death
    comm::Ns heard_ns = 0, broken_ns = 0;
    bool missed() const { return member && !attending && !reported && !gone; }
  };

  std::vector<Member> members_locked() const;
  std::string told_alike() const;  // with the lock held
  std::optional<std::string> refuse_locked(const Member& member);
  void disagree_locked(const std::string& what);  // tells all, unless the job has begun
  void watch(std::stop_token stop);

  const MembershipOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<Process> processes_;
  std::string disagreement_;
  std::jthread watcher_;  // last: it uses all of the above
};

}  // namespace shardlab::control
