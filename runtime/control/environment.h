// How a process finds its job: what its surroundings say, and joining accordingly.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/control/client.h"

namespace shardlab::control {

// The variables by which the launcher tells a process its place.
inline constexpr char kCoordinatorVariable[] = "SHARDLAB_COORDINATOR";
inline constexpr char kTokenVariable[] = "SHARDLAB_JOB_TOKEN";
inline constexpr char kProcessIndexVariable[] = "SHARDLAB_PROCESS_INDEX";
inline constexpr char kNumProcessesVariable[] = "SHARDLAB_NUM_PROCESSES";
inline constexpr char kNumDevicesVariable[] = "SHARDLAB_NUM_CPU_DEVICES";
inline constexpr char kShmVariable[] = "SHARDLAB_SHM";
inline constexpr char kTraceDirVariable[] = "SHARDLAB_TRACE_DIR";

struct JobEnvironment {
  enum class Source { kLauncher, kOpenMpi };
  Source source = Source::kLauncher;
  int process_index = 0;
  int num_processes = 1;
  int local_index = 0;                 // among the processes of this host
  std::string coordinator, token;      // empty where process 0 has yet to start the coordinator
  std::string shm;                     // the segment's name; empty: agreed through the key-value store
  std::string trace_dir;               // where records go; empty: none asked for
  std::optional<int> num_cpu_devices;  // the number of virtual devices asked for
  std::string open_mpi_uri;            // with kOpenMpi
};

// Our launcher's variables first, then Open MPI's; nullopt for a program started by itself. Throws UserError that names a variable
// whose value makes no sense.
std::optional<JobEnvironment> detect_environment();

// SHARDLAB_NUM_CPU_DEVICES, which also counts for a program started by itself. Throws UserError unless it is a positive number.
std::optional<int> devices_from_environment();

struct JoinOptions {
  int num_devices = 1;
  int join_timeout_ms = 300'000;
  std::function<void(const std::string& why)> on_stop;
};

// Joins the job; under Open MPI process 0 first starts the coordinator as a small child in a session of its own, and the others find it.
std::unique_ptr<ControlClient> join_job(const JobEnvironment&, const JoinOptions&);

// Open MPI's rule, which JAX has too: where to look for the coordinator of the job with that contact address.
int open_mpi_port(const std::string& uri);
std::string open_mpi_token(const std::string& uri);

}  // namespace shardlab::control
