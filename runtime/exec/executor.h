// The executor: issues launches and runs them, each in lockstep over this process's devices.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/call_stacks.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/executable.h"
#include "runtime/exec/launch_queue.h"

namespace shardlab {

class Context;

// Thread rules: submit() and drain() come from the issuing thread. Launches over processes run on one executing thread in the order of
// issue, so that a process goes on issuing while a launch waits for peers. A launch that stays in the process runs at once in the issuing
// thread where nothing that it needs is on its way; one that leaves devices free for others and has much to do, or has to wait for
// another, runs on a thread beside them (launch_queue.h).
//
// Because every process runs its launches over processes in the order of issue, correct programs (the same order everywhere) cannot
// deadlock: the earliest unfinished launch always has all its members on their way, and waits in its process for earlier ones alone.
class Executor {
 public:
  explicit Executor(Context& context);

  // Issues one launch; its results. `args` are concrete; an uncommitted one that lies elsewhere is cut to the program's wish. The memory
  // of `donated` ones (none, or one flag each) is let go as soon as the program needs it no longer; they must be marked as deleted.
  std::vector<Array> submit(std::shared_ptr<const Executable> executable, const std::vector<Array>& args, bool committed, Where where,
                            const std::vector<bool>& donated = {});
  // Waits until everything submitted has finished. Throws what a launch failed with, where nobody was told.
  void drain();
  // Whether everything submitted has finished.
  bool is_idle() const { return queue_.is_empty(); }
  // Whether a launch failed here, and not because of the others.
  bool has_failed() const;
  // The number of the last launch over processes; -1: none.
  std::int64_t last_spanning_launch() const { return last_spanning_launch_; }
  UnusedResults& unused() { return *unused_; }
  // What the plans of all moves that ran say they send to each process. Complete after drain().
  std::map<int, std::int64_t> planned_bytes() const;

 private:
  struct Task {
    std::shared_ptr<const Executable> executable;
    std::vector<std::shared_ptr<ArrayImpl>> args, results;
    std::vector<bool> donated;  // empty, or one an argument
    std::shared_ptr<LaunchState> state;
    comm::Launch launch;
    std::uint64_t group = 0, history = 0;
    // Where numbers are checked: the first op that gave what is none, and its element.
    std::unique_ptr<std::string> no_number;
  };
  // What the queue is to know of it.
  QueuedLaunch queued(const Task& task) const;
  void run(Task& task);
  // Nothing where it went well.
  std::shared_ptr<LaunchFailure> try_run(Task& task);
  using Slots = std::vector<std::vector<BufferRef>>;  // per slot and mesh position
  // On which of this process's devices a body runs.
  struct Scope {
    const std::vector<int>* active = nullptr;  // mesh positions
    bool diverged = false;                     // the others do something else meanwhile
    std::string place = {};                    // which round of which nodes' bodies, for a launch over processes: "step 2 round 0, "
  };
  void run_steps(Task& task);
  // Runs a program or a body; its results per mesh position. region_run.cpp has the nodes with bodies.
  Slots run_program(const Task& task, const Executable& executable, Slots params, const Scope& scope);
  void run_region(const Task& task, const Executable& executable, const Executable::Region& region, Slots& slots, const Scope& scope);
  static Scope inside_of(const Task& task, const Executable& executable, const Executable::Region& region, const Scope& scope, long round);
  Slots run_while(const Task& task, const Executable& executable, const Executable::Region& region, Slots operands, Scope scope);
  Slots run_scan(const Task& task, const Executable& executable, const Executable::Region& region, Slots operands, Scope scope);
  Slots run_branch(const Task& task, const Executable& executable, const Executable::Region& region, Slots operands, const Scope& scope);
  void run_transfer(Task& task);
  void run_fused(const Task& task, const Executable& executable, const FusedStep& step, Slots& slots, const Scope& scope);
  void run_compute(const Task& task, const Executable& executable, const Executable::Compute& step, Slots& slots, const Scope& scope);
  // number_checks_run.cpp: notes the first step that gives no number; fails where a result is none.
  void check_step(const Task& task, const Executable& executable, const Node* node, const std::vector<int>& results, const Slots& slots);
  void check_results(const Task& task, const Executable& executable, const Slots& results);
  // Calls a function of the user's; callback_run.cpp.
  void run_callback(const Task& task, const Executable& executable, const Executable::Compute& step, Slots& slots, const Scope& scope);
  // Runs a move and tells the observers; throws TransportError where it does not end.
  void run_move(const Task& task, const Executable& executable, const Executable::Move& step, Slots& slots, const Scope& scope);
  template <typename Plan>
  void run_plan(const Task& task, Backend& backend, const Plan& plan, int first_call, int calls, const std::vector<BufferRef>& sources,
                std::vector<BufferRef>& targets);
  template <typename Plan>
  void count_planned(const Plan& plan);
  // What tells the observers of a step's times; empty where nobody records.
  Backend::Report report(const Task& task, std::string_view op, Where where) const;
  std::vector<BufferRef> load(const Task& task, std::size_t param) const;
  void record_results(const Task& task);
  void record_host_operands(const std::vector<Array>& args);
  void record_values(const Task& task, const std::vector<std::shared_ptr<ArrayImpl>>& arrays);

  struct GroupState {
    std::int64_t seq = 0;
    std::uint64_t history = 0;
  };

  Context& context_;
  std::shared_ptr<UnusedResults> unused_ = std::make_shared<UnusedResults>();
  StackSampler stacks_;  // of the issuing thread
  std::int64_t next_launch_ = 0, last_spanning_launch_ = -1;
  std::map<std::vector<int>, GroupState> groups_;
  mutable std::mutex mutex_;
  std::map<int, std::int64_t> planned_bytes_;  // under the mutex
  static constexpr std::size_t kFailuresKept = 16;
  std::vector<std::shared_ptr<LaunchFailure>> failures_;  // under it too: the first ones of launches that failed by themselves
  std::shared_ptr<LaunchFailure> broken_;                 // of the first launch over processes that failed here; the executing thread's
  static constexpr int kRunnersMax = 16;
  LaunchQueue queue_;  // last: what it runs uses all of the above
};

}  // namespace shardlab
