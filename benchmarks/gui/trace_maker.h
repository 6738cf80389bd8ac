// A trace of any size for measuring the window: bursts, gaps, 1-ns events and collectives over processes, from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace shardlab::bench {

struct TracePlan {
  std::string out;
  std::int64_t events = 1'000'000;
  std::uint64_t seed = 1;
  int processes = 8, devices = 8;  // devices: of each process
  std::int64_t step = 2000;        // events of a lane between two collectives
  std::int64_t arrays = 0;         // that all devices hold parts of, each for a while
  int lanes() const { return processes * devices; }
  std::int64_t steps() const { return std::max<std::int64_t>(events / (lanes() * step), 1); }
  std::int64_t compute_per_step() const { return std::max<std::int64_t>(events / (lanes() * steps()) - 1, 0); }
};

// Equal plans make equal files. Throws IoError.
void make_trace(const TracePlan& plan);

}  // namespace shardlab::bench
