// Slurm: srun gives each task its number and the list of the step's nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/control/cluster.h"

namespace shardlab::control {
namespace {

constexpr std::array kNeeded{"SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"};

bool present() {
  return std::all_of(kNeeded.begin(), kNeeded.end(), [](const char* name) { return !variable(name).empty(); });
}

// srun sets SLURM_PROCID; a shell within an allocation has most of the others and is no task.
std::string incomplete() {
  if (variable("SLURM_PROCID").empty() || present()) return "";
  std::vector<std::string> missing;
  for (const char* name : kNeeded)
    if (variable(name).empty()) missing.emplace_back(name);
  return fmt::format("this is task {} of a Slurm step (SLURM_PROCID), but not set: {}", variable("SLURM_PROCID"), fmt::join(missing, ", "));
}

// "node[001-015],h2" → "node001"; "gpu[3,7-9]x" → "gpu3x".
std::string first_node(const std::string& list) {
  std::size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  std::size_t first_end = list.find_first_of(",-]", end + 1), close = list.find(']', end + 1);
  if (first_end == std::string::npos || close == std::string::npos)
    throw_user_error("the first node cannot be read from SLURM_STEP_NODELIST: '{}'", list);
  std::size_t rest = std::min(list.find_first_of(",[", close + 1), list.size());
  return list.substr(0, end) + list.substr(end + 1, first_end - end - 1) + list.substr(close + 1, rest - close - 1);
}

ClusterPlace describe(const ClusterQuestion& question) {
  ClusterPlace place;
  if (question.num_processes) place.num_processes = number_variable("SLURM_NTASKS", 1);
  if (question.process_index) place.process_index = number_variable("SLURM_PROCID", 0);
  place.job = "slurm " + variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID");
  if (!question.coordinator) return place;
  place.coordinator_port = number_variable("SLURM_JOB_ID", 0) % 4096 + 61440;
  place.coordinator_host = variable("SLURM_STEP_NUM_NODES") == "1" ? "127.0.0.1" : first_node(variable("SLURM_STEP_NODELIST"));
  return place;
}

}  // namespace

const ClusterDef kSlurmCluster{
    .name = "slurm",
    .doc = "started by srun: SLURM_JOB_ID, SLURM_STEP_NODELIST, SLURM_NTASKS, SLURM_PROCID and SLURM_LOCALID are set",
    .present = present,
    .incomplete = incomplete,
    .describe = describe,
    .joins_output = true,
};

}  // namespace shardlab::control
