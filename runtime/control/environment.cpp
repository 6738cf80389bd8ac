#include "runtime/control/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/control/cluster.h"
#include "runtime/control/network.h"
#include "runtime/control/serve.h"

extern char** environ;

namespace shardlab::control {
namespace {

constexpr int kPortsTried = 16;
constexpr int kLinkMs = 10'000;  // as a scenario's limits.link_ms

// Where we may listen when nothing else is said: everywhere if the address is one that other hosts use.
constexpr char kEverywhere[] = "[::]";

std::optional<JobEnvironment> from_launcher() {
  if (variable(kCoordinatorVariable).empty()) return std::nullopt;
  JobEnvironment environment;
  environment.source = JobEnvironment::Source::kLauncher;
  environment.coordinator = variable(kCoordinatorVariable);
  environment.token = variable(kTokenVariable);
  environment.process_index = number_variable(kProcessIndexVariable, 0);
  environment.num_processes = number_variable(kNumProcessesVariable, 1);
  environment.shm = variable(kShmVariable);
  environment.joined_output = !variable(kVerdictToldVariable).empty();
  if (environment.process_index >= environment.num_processes)
    throw_user_error("{} is {}, but the job has {} processes", kProcessIndexVariable, environment.process_index, environment.num_processes);
  return environment;
}

// A program under our launcher may still say its place, as it does elsewhere; the same place is no other job.
bool agrees(const JobRequest& request, const JobEnvironment& environment) {
  return (!request.num_processes || *request.num_processes == environment.num_processes) &&
         (!request.process_id || *request.process_id == environment.process_index);
}

// The job's cluster, where one is wanted: the named one, else the first that is present.
const ClusterDef* cluster_for(const JobRequest& request) {
  if (request.cluster_detection_method) {
    const std::string& wanted = *request.cluster_detection_method;
    if (wanted == "deactivate") return nullptr;
    const ClusterDef* named = find_cluster(wanted);
    std::vector<std::string_view> names{"deactivate"};
    for (const ClusterDef* each : all_clusters()) names.push_back(each->name);
    // As in JAX no error of its own: what is missing then is.
    if (!named)
      fmt::print(stderr, "shardlab: there is no cluster_detection_method '{}'{}; there are: {}\n", wanted, did_you_mean(wanted, names),
                 fmt::join(names, ", "));
    else if (!named->present())
      fmt::print(stderr, "shardlab: cluster_detection_method is '{}', but this is no process of that kind ({})\n", wanted, named->doc);
    return named && named->present() ? named : nullptr;
  }
  for (const ClusterDef* each : all_clusters())
    if (each->present()) return each;
  // Where the program says its place itself, that is another matter.
  bool said = request.coordinator_address || request.num_processes || request.process_id;
  for (const ClusterDef* each : all_clusters())
    if (std::string why = each->incomplete(); !why.empty() && !said) fmt::print(stderr, "shardlab: {}. It runs on its own\n", why);
  return nullptr;
}

void check_numbers(std::int64_t num_processes, std::int64_t process_id) {
  if (process_id < 0) throw_user_error("process_id must be a nonnegative int. Got process_id={} of type int", process_id);
  if (num_processes < 1) throw_user_error("num_processes must be a positive int. Got num_processes={} of type int", num_processes);
  if (process_id >= num_processes)
    throw_user_error(
        "process_id and num_processes must be nonnegative, with process_id < num_processes. Got process_id={}, num_processes={}",
        process_id, num_processes);
}

// Told once, by whoever starts the coordinator.
void warn_of_proxies() {
  for (char** entry = environ; *entry; ++entry) {
    std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (name.find("_proxy") != std::string_view::npos)
      fmt::print(stderr, "shardlab: the environment variable {} is set; shardlab's own connections do not use a proxy\n", name);
  }
}

std::string token_for(const std::string& job, bool loopback, bool first) {
  std::string token = variable(kTokenVariable);
  if (!token.empty()) return token;
  if (!loopback && first)
    fmt::print(stderr,
               "shardlab: the job's token is made of what anybody may know; where strangers can reach the coordinator, set {} to the same "
               "secret for all processes\n",
               kTokenVariable);
  return sha256_hex("shardlab job " + job).substr(0, 32);
}

std::optional<JobEnvironment> from_words(JobRequest request) {
  auto from_variable = [](const char* name, std::optional<std::string>& value) {
    if (!value && !variable(name).empty()) value = variable(name);
  };
  from_variable("JAX_COORDINATOR_ADDRESS", request.coordinator_address);
  from_variable("JAX_COORDINATOR_BIND_ADDRESS", request.coordinator_bind_address);
  bool named = request.cluster_detection_method && *request.cluster_detection_method != "deactivate";
  bool said = request.coordinator_address || request.num_processes || request.process_id || named;
  bool complete = request.coordinator_address && request.num_processes && request.process_id;
  std::optional<ClusterPlace> place;
  const ClusterDef* cluster = complete ? nullptr : cluster_for(request);
  if (cluster)
    place = cluster->describe({.coordinator = !request.coordinator_address,
                               .num_processes = !request.num_processes,
                               .process_index = !request.process_id,
                               .limit = std::chrono::milliseconds(request.initialization_timeout_ms)});
  if (!said && !place) return std::nullopt;

  JobEnvironment environment;
  environment.source = place ? JobEnvironment::Source::kCluster : JobEnvironment::Source::kExplicit;
  environment.joined_output = cluster && cluster->joins_output;
  std::string job;
  if (!request.coordinator_address && place) {
    bool port_given = !variable("JAX_COORDINATOR_PORT").empty();
    int port = port_given ? number_variable("JAX_COORDINATOR_PORT", 1) : place->coordinator_port;
    request.coordinator_address = join_address(place->coordinator_host, port);
    environment.ports = port_given ? 1 : std::min(kPortsTried, 65536 - port);
    job = place->job;
  }
  if (!request.num_processes && place) request.num_processes = place->num_processes;
  if (!request.process_id && place) request.process_id = place->process_index;

  if (!request.coordinator_address) throw_user_error("coordinator_address should be defined.");
  if (!request.num_processes) throw_user_error("Number of processes must be defined.");
  if (!request.process_id) throw_user_error("The process id of the current process must be defined.");
  check_numbers(*request.num_processes, *request.process_id);

  environment.coordinator = *request.coordinator_address;
  environment.num_processes = int(*request.num_processes);
  environment.process_index = int(*request.process_id);
  auto [host, port] = split_address(environment.coordinator, "coordinator_address");
  if (port == 0 && environment.num_processes > 1)
    throw_user_error("coordinator_address '{}' has the port 0, at which other processes do not find it: choose one from 1 to 65535",
                     environment.coordinator);
  bool loopback = is_loopback(host), first = environment.process_index == 0;
  environment.bind_host = loopback ? "127.0.0.1" : kEverywhere;
  if (request.coordinator_bind_address) {
    auto [bind_host, bind_port] = split_address(*request.coordinator_bind_address, "coordinator_bind_address");
    if (bind_port != port)
      throw_user_error("coordinator_bind_address {} and coordinator_address {} must have the same port", *request.coordinator_bind_address,
                       environment.coordinator);
    environment.bind_host = bind_host.find(':') == std::string::npos ? bind_host : "[" + bind_host + "]";
  }
  if (first) warn_of_proxies();
  // Not of the host, which each process may call by another name.
  if (job.empty()) job = fmt::format("port {}", port);
  environment.token = token_for(job, loopback, first);
  return environment;
}

bool flag(const char* name) {
  std::string value = variable(name);
  if (value.empty() || value == "0" || value == "false" || value == "False") return false;
  if (value == "1" || value == "true" || value == "True") return true;
  throw_user_error("the environment variable {} must be 0, 1, true or false; got '{}'", name, value);
}

// JAX_LOCAL_DEVICE_IDS, where the program does not say which devices are its own.
std::size_t local_device_count(const JobRequest& request) {
  std::string ids = variable("JAX_LOCAL_DEVICE_IDS");
  if (!request.local_device_ids.empty()) return request.local_device_ids.size();
  if (ids.empty()) return 0;
  std::vector<std::string_view> list = split(ids, ',');
  for (std::string_view id : list)
    if (id.empty() || !std::all_of(id.begin(), id.end(), [](unsigned char c) { return std::isdigit(c); }))
      throw_user_error("the environment variable JAX_LOCAL_DEVICE_IDS must be numbers with commas between them, as in 0,1; got '{}'", ids);
  return list.size();
}

}  // namespace

std::optional<int> devices_from_environment() {
  for (const char* name : {kNumDevicesVariable, "JAX_NUM_CPU_DEVICES"})
    if (!variable(name).empty()) return number_variable(name, 1);
  return std::nullopt;
}

std::optional<JobEnvironment> find_job(const JobRequest& request) {
  std::optional<int> devices = devices_from_environment();
  std::optional<JobEnvironment> environment = from_launcher();
  if (!environment || !agrees(request, *environment)) environment = from_words(request);
  if (!environment) return std::nullopt;
  environment->num_cpu_devices = devices;
  environment->tls = complete_tls(request.tls);
  environment->recoverable = request.recoverable || flag(kRecoverableVariable) || flag("JAX_ENABLE_RECOVERABILITY");
  if (!devices && local_device_count(request) > 0) environment->num_cpu_devices = int(local_device_count(request));
  environment->trace_dir = variable(kTraceDirVariable);
  if (environment->source != JobEnvironment::Source::kLauncher) environment->trace = variable(kTraceVariable);
  if (!variable(kTransportVariable).empty()) environment->transport = variable(kTransportVariable);
  environment->join_timeout_ms = request.initialization_timeout_ms;
  // Between hosts a link may be cut, which nobody is told of.
  bool one_host = environment->bind_host.empty() || environment->bind_host == "127.0.0.1";
  environment->heartbeat_timeout_ms = one_host ? request.heartbeat_timeout_ms : std::min(request.heartbeat_timeout_ms, kLinkMs);
  environment->shutdown_timeout_ms = request.shutdown_timeout_ms;
  return environment;
}

std::string own_address(const JobEnvironment& environment) {
  if (std::string address = variable(kHostAddressVariable); !address.empty()) {
    if (!is_numeric_address(address))
      throw_user_error("the environment variable {} must be an address of this host in numbers, as in 192.0.2.7; got '{}'",
                       kHostAddressVariable, address);
    return address;
  }
  return own_address_towards(split_address(environment.coordinator, "the coordinator's address").first);
}

ClientOptions locate(const JobEnvironment& environment, const JoinOptions& options) {
  ClientOptions client{.address = environment.coordinator,
                       .token = environment.token,
                       .process_index = environment.process_index,
                       .num_processes = environment.num_processes,
                       .num_devices = options.num_devices,
                       .join_timeout_ms = environment.join_timeout_ms,
                       .heartbeat_timeout_ms = environment.heartbeat_timeout_ms,
                       .shutdown_timeout_ms = environment.shutdown_timeout_ms,
                       .tls = environment.tls,
                       .on_stop = options.on_stop};
  if (environment.bind_host.empty()) return client;
  auto [host, port] = split_address(environment.coordinator, "coordinator_address");
  client.server_name = host;
  if (environment.process_index == 0 && environment.recoverable) {
    // Process 0, too, may come again: then the coordinator that it started before still serves the others.
    try {
      client.address = find_coordinator(host, port, environment.ports, environment.token, 0, 1, environment.tls);
      return client;
    } catch (const TransportError&) {  // the first time
    }
  }
  if (environment.process_index == 0)
    client.address = start_server({.num_processes = environment.num_processes,
                                   .token = environment.token,
                                   .host = environment.bind_host,
                                   .tls = environment.tls,
                                   .elastic = environment.recoverable,
                                   .first_port = port,
                                   .ports = environment.ports,
                                   .join_timeout_ms = environment.join_timeout_ms,
                                   .heartbeat_timeout_ms = environment.heartbeat_timeout_ms,
                                   .trace = options.serve.trace,
                                   .merge = options.serve.merge},
                                  &client.merged_fd);
  else
    client.address = find_coordinator(host, port, environment.ports, environment.token, environment.process_index,
                                      environment.join_timeout_ms, environment.tls);
  return client;
}

std::unique_ptr<ControlClient> join_job(const JobEnvironment& environment, const JoinOptions& options) {
  return connect(locate(environment, options));
}

}  // namespace shardlab::control
