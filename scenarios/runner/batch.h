// A child process that runs single-process scenarios one after another: a scenario that takes too long, or takes the process down,
// ends with a status all the same.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "scenarios/document/load.h"
#include "scenarios/runner/report.h"

namespace shardlab::scenarios {

// How a scenario ended: what people are told, and the report as JSON.
struct Replayed {
  Summary summary;
  std::string json;
};
Replayed replayed(const Report& report);

// The command's side; one thread uses it. The child starts with the first scenario, and again after each that it did not survive.
class BatchWorker {
 public:
  BatchWorker() = default;
  ~BatchWorker();
  BatchWorker(const BatchWorker&) = delete;
  BatchWorker& operator=(const BatchWorker&) = delete;
  // `trace`: where the trace of simulated processes is kept; empty: nowhere.
  Replayed run(const Loaded& loaded, std::int64_t limit_ms, const std::string& trace = "");

 private:
  void start();
  int end(bool kill);  // its wait status
  // `crashed`: what it said of that, or empty.
  Replayed lost(const Loaded& loaded, std::int64_t limit_ms, bool timed_out, const std::string& crashed = "");
  pid_t child_ = -1;
  int socket_ = -1;
};

// The child's side: serves requests until the socket is closed.
int serve_batch(int socket);

}  // namespace shardlab::scenarios
