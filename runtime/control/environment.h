// How a process finds its job: what it was told, what its surroundings say, and joining accordingly.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/client.h"
#include "runtime/control/serve.h"
#include "runtime/control/tls.h"

namespace shardlab::control {

// The variables by which the launcher tells a process its place.
inline constexpr char kCoordinatorVariable[] = "SHARDLAB_COORDINATOR";
inline constexpr char kTokenVariable[] = "SHARDLAB_JOB_TOKEN";
inline constexpr char kProcessIndexVariable[] = "SHARDLAB_PROCESS_INDEX";
inline constexpr char kNumProcessesVariable[] = "SHARDLAB_NUM_PROCESSES";
inline constexpr char kNumDevicesVariable[] = "SHARDLAB_NUM_CPU_DEVICES";
inline constexpr char kShmVariable[] = "SHARDLAB_SHM";
inline constexpr char kTraceDirVariable[] = "SHARDLAB_TRACE_DIR";
inline constexpr char kTraceVariable[] = "SHARDLAB_TRACE";           // of a job that no command supervises: where its trace goes
inline constexpr char kKeepPartsVariable[] = "SHARDLAB_KEEP_PARTS";  // to its coordinator
inline constexpr char kTransportVariable[] = "SHARDLAB_TRANSPORT";
inline constexpr char kVerdictToldVariable[] = "SHARDLAB_VERDICT_TOLD";           // whoever started the process prints the verdict
inline constexpr char kRecoverableVariable[] = "SHARDLAB_ENABLE_RECOVERABILITY";  // or JAX_ENABLE_RECOVERABILITY
inline constexpr char kHostAddressVariable[] = "SHARDLAB_HOST_ADDRESS";

// What a program says itself: the arguments of distributed::initialize.
struct JobRequest {
  std::optional<std::string> coordinator_address;  // "192.0.2.1:8000"
  std::optional<std::int64_t> num_processes, process_id;
  std::vector<int> local_device_ids;
  std::optional<std::string> cluster_detection_method;  // a ClusterDef's name, or "deactivate"
  std::optional<std::string> coordinator_bind_address;  // where process 0 listens
  TlsOptions tls;
  bool recoverable = false;
  int initialization_timeout_ms = 300'000;
  int heartbeat_timeout_ms = 100'000;
  int shutdown_timeout_ms = 300'000;
};

struct JobEnvironment {
  enum class Source { kLauncher, kCluster, kExplicit };
  Source source = Source::kLauncher;
  int process_index = 0;
  int num_processes = 1;
  std::string coordinator, token;  // the coordinator's address
  std::string bind_host;           // where process 0 has yet to start it; empty: it runs
  int ports = 1;                   // how many to try from the coordinator's on
  std::string shm;                 // the segment's name; empty: agreed through the key-value store
  std::string trace_dir;           // where records go; empty: none asked for
  std::string trace;               // where the trace goes that the job's coordinator merges; empty: none asked for, or a command does
  std::string transport = "auto";
  TlsOptions tls;
  bool joined_output = false;          // whoever started the processes prints in one place what each of them prints
  bool recoverable = false;            // an elastic job
  std::optional<int> num_cpu_devices;  // the number of virtual devices asked for
  int join_timeout_ms = 300'000, heartbeat_timeout_ms = 100'000, shutdown_timeout_ms = 300'000;
};

// Our launcher's variables first, unless the program says otherwise; then what the program says, completed by JAX's variables and by the
// cluster. nullopt for a program started by itself that says nothing. Throws UserError: JAX's text, and more.
std::optional<JobEnvironment> find_job(const JobRequest& request = {});

// SHARDLAB_NUM_CPU_DEVICES or JAX_NUM_CPU_DEVICES, which also count for a program started by itself. Throws UserError unless it is a
// positive number.
std::optional<int> devices_from_environment();

struct JoinOptions {
  int num_devices = 1;
  ServeOptions serve;  // where this process starts the coordinator: what becomes of the trace
  std::function<void(const std::string& why)> on_stop;
};

// How to reach the job's coordinator, which runs then: process 0 starts it where nobody has, and the others wait for it.
ClientOptions locate(const JobEnvironment&, const JoinOptions&);

// Joins the job; where nobody runs the coordinator, process 0 first starts it as a small child in a session of its own, and the others
// find it.
std::unique_ptr<ControlClient> join_job(const JobEnvironment&, const JoinOptions&);

// The address at which other hosts of the job reach this process.
std::string own_address(const JobEnvironment&);

}  // namespace shardlab::control
