// Joining the processes of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/where.h"

namespace shardlab::distributed {

// jax.distributed.initialize's arguments; what is not given is found out.
struct InitializeOptions {
  std::optional<std::string> coordinator_address = {};  // "192.0.2.1:8000": where process 0 serves the job, as all others reach it
  std::optional<std::int64_t> num_processes = {}, process_id = {};
  std::vector<int> local_device_ids = {};                    // as many virtual devices, where no variable says how many
  std::optional<std::string> cluster_detection_method = {};  // "ompi", "slurm", "k8s", or "deactivate"
  int initialization_timeout = 300;                          // seconds, for all processes to come
  int heartbeat_timeout_seconds = 100;                       // without a sign of life from a process or the coordinator
  int shutdown_timeout_seconds = 300;                        // for all processes to end
  std::optional<std::string> coordinator_bind_address = {};  // where process 0 listens; everywhere unless the address is loopback
  // jax_enable_recoverability: a death ends what was begun together and not the job, and who is started again rejoins (live_devices.h).
  bool enable_recoverability = false;
  // SIGINT (Ctrl-C) and SIGTERM tell where every process of the job is before they end this one. A program's own handlers stay. Off, too,
  // with SHARDLAB_TELL_AT_SIGNALS=0.
  bool tell_at_signals = true;
};

// Joins a job. Without arguments: the one that this process was started in, by `shardlab run` or `replay`, by mpirun, srun, or as a pod of
// a Kubernetes Job or JobSet; a process on its own is a job of one. With arguments no launcher is needed: the same program is started by
// hand on each host, with the same address and a process_id of its own.
// Must come before any use of a device: afterwards, and when called twice, it is JAX's documented error. Devices per process:
// SHARDLAB_NUM_CPU_DEVICES (or `-d` of the command). Records when SHARDLAB_TRACE_DIR (set by the command) or SHARDLAB_TRACE names a place.
// At normal exit the process leaves the job by itself; an uncaught error is told to the others.
void initialize(std::source_location where = std::source_location::current());
void initialize(const InitializeOptions& options, std::source_location where = std::source_location::current());
void initialize(const std::string& coordinator_address, std::int64_t num_processes, std::int64_t process_id,
                std::source_location where = std::source_location::current());

// Leaves the job: everything launched is done, and all processes agree on it. Throws DiagnosisError. Done at exit where not called.
void shutdown();

bool is_initialized();

// The data that this process has sent to another one, once everything launched here is done.
struct LinkTraffic {
  int process = 0;
  bool same_host = true;
  std::int64_t planned_bytes = 0;  // what the plans of the programs that ran say
  std::int64_t sent_bytes = 0;     // what the transport counted, and what went from GPU to GPU
  std::int64_t messages = 0;
};
// To each of the others, in their order.
std::vector<LinkTraffic> link_traffic();

// Tells the other processes that this one ends in an error. For runners that catch it themselves.
void raised(std::string_view text, Where where);

}  // namespace shardlab::distributed
