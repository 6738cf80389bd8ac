#include "scenarios/runner/collector.h"

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

std::vector<SeenCollective> Collector::collectives() const {
  std::lock_guard lock(mutex_);
  std::vector<SeenCollective> result;
  for (const comm::Launch& launch : launches_)
    for (std::size_t i = 0; i < launch.program->collectives.size(); ++i) result.push_back(seen_of(launch, i));
  return result;
}

}  // namespace shardlab::scenarios
