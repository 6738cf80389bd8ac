// An observer that keeps the collectives and transfers of one process's run, for the report.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/comm/observer.h"
#include "scenarios/runner/outcome.h"

namespace shardlab::scenarios {

// Call `index` of a launch.
SeenCollective seen_of(const comm::Launch& launch, std::size_t index);

class Collector final : public comm::Observer {
 public:
  // Called at issue with the numbers of the process's calls that the launch makes: [first, first + count). It may throw.
  using AtIssue = std::function<void(std::int64_t first, std::int64_t count)>;
  explicit Collector(AtIssue at_issue = {}) : at_issue_(std::move(at_issue)) {}
  void at_issue(AtIssue at_issue) { at_issue_ = std::move(at_issue); }  // before the first launch

  // Called on the executing thread as each call begins.
  void in_calls(std::function<void()> in_call) { in_call_ = std::move(in_call); }

  void on_launch_issued(const comm::Launch& launch) override;
  void on_call_started(const comm::Launch& launch, int index, comm::Ns) override;
  void on_launch_done(const comm::Launch& launch, comm::Ns, comm::CallStatus status) override;
  void on_call_done(const comm::Launch&, int, comm::Ns, comm::CallStatus, std::int64_t moved_bytes) override {
    moved_bytes_ += moved_bytes;
  }

  std::vector<SeenCollective> collectives() const;
  std::int64_t moved_bytes() const { return moved_bytes_; }
  bool records_lost() const { return lost_; }

 private:
  std::int64_t runs_of(const comm::Launch& launch, int index) const;

  static constexpr std::size_t kLaunchesMax = 1 << 20;  // kept for the report
  AtIssue at_issue_;
  std::function<void()> in_call_;
  mutable std::mutex mutex_;
  std::vector<comm::Launch> launches_;                        // those with calls
  std::map<std::int64_t, std::map<int, std::int64_t>> runs_;  // per launch and call: how often it began
  std::set<std::int64_t> finished_;                           // launches that ended well
  std::int64_t calls_ = 0;
  std::atomic<std::int64_t> moved_bytes_{0};
  std::atomic<bool> lost_{false};
};

}  // namespace shardlab::scenarios
