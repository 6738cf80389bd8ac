#include "runtime/control/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"
#include "runtime/control/serve.h"

namespace shardlab::control {
namespace {

constexpr int kPortsTried = 16;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int number(const char* name, int at_least) {
  std::string text = variable(name);
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < at_least)
    throw_user_error("the environment variable {} must be a whole number of at least {}; got '{}'", name, at_least, text);
  return value;
}

void check_place(const char* index_name, const JobEnvironment& environment) {
  if (environment.process_index >= environment.num_processes)
    throw_user_error("{} is {}, but the job has {} processes", index_name, environment.process_index, environment.num_processes);
}

}  // namespace

std::optional<int> devices_from_environment() {
  if (variable(kNumDevicesVariable).empty()) return std::nullopt;
  return number(kNumDevicesVariable, 1);
}

std::optional<JobEnvironment> detect_environment() {
  JobEnvironment environment;
  environment.num_cpu_devices = devices_from_environment();
  environment.trace_dir = variable(kTraceDirVariable);
  if (!variable(kCoordinatorVariable).empty()) {
    environment.source = JobEnvironment::Source::kLauncher;
    environment.coordinator = variable(kCoordinatorVariable);
    environment.token = variable(kTokenVariable);
    environment.process_index = number(kProcessIndexVariable, 0);
    environment.num_processes = number(kNumProcessesVariable, 1);
    environment.local_index = environment.process_index;
    environment.shm = variable(kShmVariable);
    check_place(kProcessIndexVariable, environment);
    return environment;
  }
  if (!variable("OMPI_MCA_orte_hnp_uri").empty() && !variable("OMPI_COMM_WORLD_SIZE").empty()) {
    environment.source = JobEnvironment::Source::kOpenMpi;
    environment.open_mpi_uri = variable("OMPI_MCA_orte_hnp_uri");
    environment.process_index = number("OMPI_COMM_WORLD_RANK", 0);
    environment.num_processes = number("OMPI_COMM_WORLD_SIZE", 1);
    environment.local_index =
        variable("OMPI_COMM_WORLD_LOCAL_RANK").empty() ? environment.process_index : number("OMPI_COMM_WORLD_LOCAL_RANK", 0);
    environment.token = open_mpi_token(environment.open_mpi_uri);
    check_place("OMPI_COMM_WORLD_RANK", environment);
    return environment;
  }
  return std::nullopt;
}

int open_mpi_port(const std::string& uri) {
  unsigned long long job = 0;
  auto [end, error] = std::from_chars(uri.data(), uri.data() + uri.size(), job);
  if (error != std::errc() || *end != '.') throw_user_error("the job's number cannot be read from OMPI_MCA_orte_hnp_uri: '{}'", uri);
  return int((job / 4096) % 4096) + 61440;
}

std::string open_mpi_token(const std::string& uri) { return sha256_hex("shardlab job " + uri).substr(0, 32); }

std::unique_ptr<ControlClient> join_job(const JobEnvironment& environment, const JoinOptions& options) {
  ClientOptions client{.address = environment.coordinator,
                       .token = environment.token,
                       .process_index = environment.process_index,
                       .num_processes = environment.num_processes,
                       .num_devices = options.num_devices,
                       .join_timeout_ms = options.join_timeout_ms,
                       .on_stop = options.on_stop};
  if (client.address.empty()) {
    int first = open_mpi_port(environment.open_mpi_uri), ports = std::min(kPortsTried, 65536 - first);
    client.address = environment.process_index == 0
                         ? start_server({.num_processes = environment.num_processes,
                                         .token = environment.token,
                                         .first_port = first,
                                         .ports = ports,
                                         .join_timeout_ms = options.join_timeout_ms})
                         : find_coordinator("127.0.0.1", first, ports, environment.token, options.join_timeout_ms);
  }
  return connect(std::move(client));
}

}  // namespace shardlab::control
