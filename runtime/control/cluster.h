// Clusters that a process can find its place in by itself: one definition each.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardlab::control {

// What a cluster is asked: only what the program does not say itself, so that nothing else can be wrong with it.
struct ClusterQuestion {
  bool coordinator = true, num_processes = true, process_index = true;
  std::chrono::milliseconds limit{0};  // for what has to be waited for
};

// What a cluster says of this process and its job: what it was asked.
struct ClusterPlace {
  std::string coordinator_host;
  int coordinator_port = 0;
  int num_processes = 0, process_index = -1;
  std::string job;  // a text that all processes of the job have, and no other job
};

// The rules are JAX's (jax/_src/clusters), so that a job script for one serves the other.
struct ClusterDef {
  std::string_view name;  // as cluster_detection_method takes it
  std::string_view doc;
  bool (*present)();
  // Where it is not present, but this process was started as one of several there: what is missing; otherwise empty.
  std::string (*incomplete)();
  ClusterPlace (*describe)(const ClusterQuestion&);  // throws UserError
  bool joins_output;                                 // what all processes print comes out in one place
};

extern const ClusterDef kOpenMpiCluster;
extern const ClusterDef kSlurmCluster;
extern const ClusterDef kKubernetesCluster;

// In the order in which they are tried.
std::span<const ClusterDef* const> all_clusters();
const ClusterDef* find_cluster(std::string_view name);

// An environment variable as text (empty where it is not set) and as a number; throws UserError that names it.
std::string variable(const char* name);
int number_variable(const char* name, int at_least);

}  // namespace shardlab::control
