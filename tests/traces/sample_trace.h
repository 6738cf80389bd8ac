// Writes realistic traces without a run, for the tests of what reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab::traces::sample {

struct SampleOptions {
  std::int64_t collectives = 100'000;  // of "large"
};

// "toy" (4 processes of 2 devices, sum(sin(x))), "deadlock" (process 3 swaps two matmuls: order-mismatch), "killed" (process 1
// dies by signal 9 in mid-run), "devices512" (8 processes of 64), "empty" (a trace in which nothing happened), "torn" (the toy's
// file cut off at two thirds), "large" (2 processes of 4 devices, many collectives).
std::vector<std::string_view> sample_names();

// Throws UserError on an unknown name, IoError where the file cannot be written.
void write_sample_trace(std::string_view name, const std::string& path, const SampleOptions& options = {});

}  // namespace shardlab::traces::sample
