// The logical launches and collectives of a job, joined over its processes.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/recorder/definitions.h"
#include "traces/recorder/process_trace.h"

namespace shardlab::recorder {

// One launch as all its issuers made it.
struct LogicalLaunch {
  const UnifiedProgram* program = nullptr;
  std::int64_t seq = 0, epoch = 0;
  traces::MatchState state = traces::MatchState::kMatched;
  std::vector<std::pair<std::size_t, const LaunchTrace*>> issuers;  // index into the processes, ascending
};

// One collective of a logical launch.
struct LogicalCall {
  std::size_t launch = 0;  // index into Joined::launches
  int call = 0;
  Ns first_ns = traces::kNoTime, last_ns = traces::kNoTime;  // last: kNoTime while a member is open
  Ns order_ns = traces::kNoTime;                             // of the rows: first_ns, but never before the launch's earlier calls
  traces::Id id = 0;                                         // in the trace, once written
};

struct Joined {
  std::vector<LogicalLaunch> launches;
  std::vector<LogicalCall> calls;                              // by time
  std::vector<std::map<std::int64_t, std::size_t>> launch_of;  // per process: its launch number -> index of launches
  std::vector<std::vector<std::size_t>> calls_of;              // per logical launch, by index in the program -> index of calls
};

// The join: same epoch, same ordered device set, same seq on it, same program. Launches of one place that differ in the program are
// mismatched; launches that a process of the program did not issue are partial.
Joined join(const std::vector<ProcessTrace>& processes, const Definitions& definitions);

}  // namespace shardlab::recorder
