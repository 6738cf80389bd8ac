// comm::Control for one process of several: everything but how the words travel to the referee.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "runtime/comm/control.h"
#include "runtime/control/callers.h"
#include "runtime/control/gate.h"
#include "runtime/control/referee.h"

namespace shardlab::control {

// Carries a process's words to the referee, in order. Nothing here blocks or throws.
class Uplink {
 public:
  virtual ~Uplink() = default;
  virtual void declare(ProgramEvidence program) = 0;
  virtual void issued(CallEvidence call) = 0;
  virtual void reading(Reading reading) = 0;  // urgent
  virtual void running() = 0;
  virtual void waiting(std::string doing, std::string where, std::int32_t statement) = 0;
  virtual void wire_mismatch(int from, std::string what) = 0;
  virtual void raised(std::string error, std::string where, std::int32_t statement) = 0;  // acknowledged through the gate
  virtual void leaving() = 0;
  virtual void recent(Recent recent) = 0;
  virtual void looked_ahead() = 0;  // with its last steps before it: what it has not done by now the verdict does without
};

// The issuing thread calls issued, await_agreement, leave and raised; the executing thread calls the rest; poisoned() is for all.
class ProcessControl : public comm::Control {
 public:
  static constexpr int kRaisedMs = 1000;               // how long an error may take to be told
  static constexpr std::chrono::minutes kShutdown{5};  // how long the others may take to leave too
  // Of its own time, that a process issues on after a poison; and that one is given whose first word on the dispute is still missing.
  static constexpr std::chrono::milliseconds kLookAhead{50}, kComingUp{1000};

  // `on_stop` is called once, from the thread that brings the verdict, when no data may move any more: abort the transport there.
  ProcessControl(int process_index, std::function<void(const std::string& why)> on_stop,
                 std::chrono::milliseconds shutdown_limit = kShutdown);

  void issued(const comm::Launch&) override;
  void await_agreement(std::int64_t launch, std::string_view what, Where where) override;
  bool may_run(std::int64_t launch) override { return gate_.may_run(launch); }
  void await_verdict(std::string_view what, Where where) override;
  bool poisoned() const { return gate_.poisoned(); }
  void wire_mismatch(const comm::Launch&, int call, const comm::WireMismatch&) override;
  void waiting(const comm::Launch&, int call, const std::vector<comm::ProcessIndex>& peers) override;
  void raised(std::string_view text, Where where) override;
  void failed(const comm::Launch&, std::string_view text, Where where) override;
  void leave() override;
  void local(const comm::Launch&) override;
  void observed(std::string_view what, std::string_view value, Where where) override;
  void unused(std::string_view what, Where where, std::int64_t count) override;
  void at(Where where) override;
  // Where every place that it comes to is put, so that it is known whatever ends the process. Before anything else is called.
  void put_places(std::function<void(Where)> put) { put_place_ = std::move(put); }
  // Called, without locks, where the issuing thread is about to go on to its next step: it does not return where the process is ending.
  // Before anything else is called.
  void rest_at_steps(std::function<void()> rest) { rest_ = std::move(rest); }

  int process_index() const { return process_index_; }
  VerdictRef verdict() const { return gate_.current_verdict(); }

 protected:
  virtual Uplink& uplink() = 0;
  Gate& gate() { return gate_; }
  // The last steps, for the verdict; after a poison, in which functions the open launches were issued, too. Any thread.
  Recent recent() const;
  // The executor has waited for others for a while, in a launch that goes by what they may see otherwise: the last steps are to be told.
  bool waits_by_choice() const;
  // After a poison, on a thread of its own: tells what the process did once it has had time for it. The time is the process's own:
  // waiting for a processor, or for the data of what all have matched, is none.
  void look_ahead(std::stop_token stop);
  // What the referee says, from whatever thread brings it.
  void hear_matched(std::int64_t count) { gate_.matched(count); }
  void hear_poison(bool anyone_raised);
  void hear_verdict(VerdictRef verdict);
  void hear_broken(const std::string& reason);

 private:
  bool awaits_data_that_comes() const;
  bool has_waited_a_while() const;  // with the lock held
  void stop(const std::string& why);
  void tell_waiting(Reading reading);
  void note_waited(const comm::Launch&, const std::vector<comm::ProcessIndex>& peers);

  struct Step {
    StepEvidence::Kind kind = StepEvidence::Kind::kLocal;
    std::shared_ptr<const comm::ProgramInfo> program;  // of a local launch
    std::string what, value;
    Where where;
    std::int64_t after = 0;
  };
  void keep(Step step);
  void keep_choice(Step step);
  void come_to(Where where);  // with the lock held
  void rest() const {
    if (rest_) rest_();
  }

  const int process_index_;
  const std::chrono::milliseconds shutdown_limit_;
  std::function<void(const std::string&)> on_stop_;
  std::atomic<bool> stopped_ = false;
  Gate gate_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> declared_;
  mutable std::mutex steps_mutex_;
  std::deque<Step> steps_;
  std::vector<StepEvidence> unused_;
  std::deque<Step> choices_;  // what loops and branches of launches go by: the last of each run
  // What the executor waited for, by peer.
  struct Waited {
    std::int64_t ns = 0, longest_ns = 0;
    std::string op;
    Where where;
  };
  std::map<int, Waited> waited_;
  std::vector<comm::ProcessIndex> awaited_;  // now, since then
  comm::Ns awaited_since_ns_ = 0;
  std::int64_t awaited_launch_ = -1;
  bool anyone_raised_ = false;          // when the poison came
  std::int64_t calls_ = 0;              // issued
  std::int64_t planned_before_ns_ = 0;  // PlanningTime as of the last of them
  Callers callers_;
  Where at_;
  std::function<void(Where)> put_place_;
  std::function<void()> rest_;
};

}  // namespace shardlab::control
