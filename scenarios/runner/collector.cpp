#include "scenarios/runner/collector.h"

#include <algorithm>

#include "runtime/base/text.h"

namespace shardlab::scenarios {

SeenCollective seen_of(const comm::Launch& launch, std::size_t index) {
  const comm::ProgramInfo& program = *launch.program;
  const comm::CollectiveInfo& info = program.collectives[index];
  SeenCollective result;
  result.fingerprint = program.fingerprint;
  result.device_set = hash_bytes({reinterpret_cast<const char*>(program.devices.data()), program.devices.size() * sizeof(comm::Ordinal)});
  result.launch_seq = launch.seq;
  result.index = int(index);
  result.kind = info.kind;
  result.op = info.op;
  result.statement = launch.where.statement;
  result.groups = info.groups;
  result.pairs = info.pairs;
  result.axes = info.axes;
  result.bytes = info.bytes;
  result.wire_bytes = info.wire_bytes;
  result.is_transfer = info.kind == "transfer";
  return result;
}

void Collector::on_launch_issued(const comm::Launch& launch) {
  std::int64_t count = std::int64_t(launch.program->collectives.size());
  if (count == 0) return;
  std::int64_t first = calls_;
  if (at_issue_) at_issue_(first, count);
  std::lock_guard lock(mutex_);
  calls_ += count;
  if (launches_.size() < kLaunchesMax)
    launches_.push_back(launch);
  else
    lost_ = true;
}

void Collector::on_call_started(const comm::Launch& launch, int index, comm::Ns) {
  if (in_call_) in_call_();
  std::lock_guard lock(mutex_);
  ++runs_[launch.number][index];
}

void Collector::on_launch_done(const comm::Launch& launch, comm::Ns, comm::CallStatus status) {
  std::lock_guard lock(mutex_);
  if (status == comm::CallStatus::kOk) finished_.insert(launch.number);
}

// In a loop a call counts as often as it ran, on whichever of its groups; of a launch that did not end, what it would have done at least.
std::int64_t Collector::runs_of(const comm::Launch& launch, int index) const {
  auto calls = runs_.find(launch.number);
  std::int64_t runs = 0;
  if (calls != runs_.end())
    if (auto found = calls->second.find(index); found != calls->second.end()) {
      const int begun = launch.program->collectives[std::size_t(index)].begun_per_run;
      runs = (found->second + begun - 1) / begun;
    }
  return finished_.contains(launch.number) ? runs : std::max<std::int64_t>(runs, 1);
}

std::vector<SeenCollective> Collector::collectives() const {
  std::lock_guard lock(mutex_);
  std::vector<SeenCollective> result;
  for (const comm::Launch& launch : launches_)
    for (std::size_t i = 0; i < launch.program->collectives.size(); ++i) {
      std::int64_t runs = runs_of(launch, int(i));
      for (std::int64_t run = 0; run < runs; ++run) {
        result.push_back(seen_of(launch, i));
        result.back().run = run;
      }
    }
  return result;
}

}  // namespace shardlab::scenarios
