#include "runtime/control/cluster.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "runtime/base/error.h"

namespace shardlab::control {

std::span<const ClusterDef* const> all_clusters() {
  static constexpr std::array kClusters{&kOpenMpiCluster, &kSlurmCluster, &kKubernetesCluster};
  return kClusters;
}

const ClusterDef* find_cluster(std::string_view name) {
  for (const ClusterDef* cluster : all_clusters())
    if (cluster->name == name) return cluster;
  return nullptr;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int number_variable(const char* name, int at_least) {
  std::string text = variable(name);
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < at_least)
    throw_user_error("the environment variable {} must be a whole number of at least {}; {}", name, at_least,
                     text.empty() ? "it is not set" : fmt::format("got '{}'", text));
  return value;
}

}  // namespace shardlab::control
