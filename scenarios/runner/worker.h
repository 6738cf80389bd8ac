// One process of a spawned scenario: what `shardlab worker` runs.
#pragma once

#include <string>

namespace shardlab::scenarios {

// Joins the job, runs the scenario of `file` as this process, writes its outcome to `folder`. The process's exit code.
int run_worker(const std::string& file, const std::string& folder);

}  // namespace shardlab::scenarios
