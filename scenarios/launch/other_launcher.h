// Runs a program that starts a job's processes in its own way (mpirun) to its end, within a limit, and hands it the signals that we get.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace shardlab {

struct OtherLauncherEnd {
  int exit_code = 0, signal = 0;
  int interrupted_by = 0;  // the first signal that we handed on
  bool timed_out = false;
};

// It has a group of its own, and ends with this process. At the limit (0: none), and at SIGINT and SIGTERM, it is asked to end the job: its
// processes say where they are then. Throws UserError when it cannot be started.
OtherLauncherEnd run_other_launcher(std::vector<std::string> argv, std::chrono::milliseconds limit);

}  // namespace shardlab
