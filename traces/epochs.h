// The sets of processes of an elastic job that went on together, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/rows.h"

namespace shardlab::traces {

// Lists ascending.
struct EpochRow {
  std::int64_t epoch = 0;
  Ns first_ns = kNoTime;
  std::vector<int> live, gone, came;  // gone and came: against the epoch before; a process that was started again may be in both
};

// Those of a trace, in order; none of a job that is not elastic, of a trace from before there were any, and where they cannot be read.
std::vector<EpochRow> read_epochs(const std::string& path);

}  // namespace shardlab::traces
