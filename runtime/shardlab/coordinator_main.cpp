// shardlab-coordinator PROCESSES HOST FIRST_PORT PORTS JOIN_TIMEOUT_MS HEARTBEAT_TIMEOUT_MS: the coordinator of a job that another launcher
// (mpirun) started. The job's token comes by SHARDLAB_JOB_TOKEN, the descriptor that wants the address by SHARDLAB_READY_FD; with
// SHARDLAB_TRACE and SHARDLAB_TRACE_DIR it merges the job's trace at the end.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "runtime/control/environment.h"
#include "runtime/control/serve.h"
#include "runtime/shardlab/job_trace.h"

namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace shardlab::control;
  const char* token = std::getenv(kTokenVariable);
  const char* ready = std::getenv("SHARDLAB_READY_FD");
  if (argc != 7 || !token) {
    std::fprintf(stderr, "usage: SHARDLAB_JOB_TOKEN=… %s PROCESSES HOST FIRST_PORT PORTS JOIN_TIMEOUT_MS HEARTBEAT_TIMEOUT_MS\n", argv[0]);
    return 2;
  }
  try {
    return serve({.num_processes = std::atoi(argv[1]),
                  .token = token,
                  .host = argv[2],
                  .tls = complete_tls({}),
                  .elastic = std::getenv(kRecoverableVariable) != nullptr,
                  .first_port = std::atoi(argv[3]),
                  .ports = std::atoi(argv[4]),
                  .ready_fd = ready ? std::atoi(ready) : -1,
                  .join_timeout_ms = std::atoi(argv[5]),
                  .heartbeat_timeout_ms = std::atoi(argv[6]),
                  .trace = {text(kTraceVariable), text(kTraceDirVariable), std::getenv(kKeepPartsVariable) != nullptr},
                  .merge = shardlab::merge_job_trace});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardlab-coordinator: %s\n", error.what());
    return 1;
  }
}
