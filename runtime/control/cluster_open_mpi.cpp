// Open MPI: mpirun gives each process its rank and the address of its own contact point.
#include <fmt/format.h>

#include <charconv>
#include <regex>

#include "runtime/base/error.h"
#include "runtime/control/cluster.h"

namespace shardlab::control {
namespace {

constexpr char kUri[] = "OMPI_MCA_orte_hnp_uri";

bool present() { return !variable(kUri).empty(); }

// Since version 5 mpirun sets it no more.
std::string incomplete() {
  if (variable("OMPI_COMM_WORLD_SIZE").empty() || variable("OMPI_COMM_WORLD_SIZE") == "1") return "";
  return fmt::format(
      "this is process {} of {} of an mpirun (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE), but {}, by which they would find each other, is "
      "not set: give distributed::initialize a coordinator_address, num_processes and process_id",
      variable("OMPI_COMM_WORLD_RANK"), variable("OMPI_COMM_WORLD_SIZE"), kUri);
}

std::string host_of(const std::string& uri) {
  static const std::regex kFirst("tcp://([^,:]+)|tcp6://\\[([^,\\]]+)");
  std::smatch match;
  if (std::regex_search(uri, match, kFirst)) return match[1].matched ? match[1] : match[2];
  throw_user_error("Could not parse coordinator IP address from Open MPI environment. {} is '{}'", kUri, uri);
}

int port_of(const std::string& uri) {
  unsigned long long job = 0;
  auto [end, error] = std::from_chars(uri.data(), uri.data() + uri.size(), job);
  if (error != std::errc() || end == uri.data() + uri.size() || *end != '.')
    throw_user_error("the job's number cannot be read from {}: '{}'", kUri, uri);
  return int((job / 4096) % 4096) + 61440;
}

ClusterPlace describe(const ClusterQuestion& question) {
  std::string uri = variable(kUri);
  ClusterPlace place;
  if (question.num_processes) place.num_processes = number_variable("OMPI_COMM_WORLD_SIZE", 1);
  if (question.process_index) place.process_index = number_variable("OMPI_COMM_WORLD_RANK", 0);
  place.job = uri;
  if (!question.coordinator) return place;
  place.coordinator_port = port_of(uri);
  place.coordinator_host = host_of(uri);
  // All on one host: nobody outside has to reach the coordinator.
  if (variable("OMPI_COMM_WORLD_LOCAL_SIZE") == variable("OMPI_COMM_WORLD_SIZE")) place.coordinator_host = "127.0.0.1";
  return place;
}

}  // namespace

const ClusterDef kOpenMpiCluster{
    .name = "ompi",
    .doc = "started by Open MPI's mpirun: OMPI_MCA_orte_hnp_uri is set",
    .present = present,
    .incomplete = incomplete,
    .describe = describe,
    .joins_output = true,
};

}  // namespace shardlab::control
