// What all processes would issue, held against each other by the same ledger and rules as in a run.
#include <algorithm>
#include <map>
#include <set>

#include "runtime/control/ledger.h"
#include "scenarios/document/validate.h"
#include "scenarios/runner/plan.h"
#include "traces/checks/check_def.h"

namespace shardlab::scenarios {
namespace {

// The program as the processes of the cluster would declare it: planning knows one process alone.
std::shared_ptr<const comm::ProgramInfo> on_cluster(const comm::ProgramInfo& info, const Cluster& cluster) {
  auto result = std::make_shared<comm::ProgramInfo>(info);
  std::set<int> owners;
  for (int ordinal : info.devices) owners.insert(ordinal / cluster.devices);
  result->processes.assign(owners.begin(), owners.end());
  return result;
}

// The launches of one process that the ledger sees.
std::vector<comm::Launch> matched_launches(const PlannedProgram& planned, const Cluster& cluster, int process) {
  std::vector<comm::Launch> result;
  std::map<std::vector<int>, std::int64_t> seqs;
  for (comm::Launch launch : planned.launches) {
    launch.program = on_cluster(*launch.program, cluster);
    launch.seq = seqs[launch.program->devices]++;
    const auto& owners = launch.program->processes;
    bool takes_part = std::binary_search(owners.begin(), owners.end(), process);
    if (takes_part && launch.program->spans_processes()) result.push_back(std::move(launch));
  }
  return result;
}

void end(control::Ledger& ledger, int process, const PlannedProgram& planned) {
  if (planned.error)
    ledger.raised(process, *planned.error, planned.error_where.text(), planned.error_where.statement, 0);
  else
    ledger.leaving(process, 0);
}

bool all_raise_alike(const std::map<int, PlannedProgram>& plans) {
  return std::all_of(plans.begin(), plans.end(), [](const auto& each) { return each.second.error.has_value(); });
}

}  // namespace

std::vector<Diagnosis> foresee(const Document& document) {
  int processes = document.cluster.processes;
  if (processes == 1) return {};
  std::vector<int> kinds = first_of_kind(document);
  std::map<int, PlannedProgram> plans;
  for (int process : kinds)
    if (!plans.contains(process)) plans.emplace(process, plan(document, process));
  if (all_raise_alike(plans)) return {};

  control::Ledger ledger(processes);
  std::vector<std::vector<comm::Launch>> launches;
  std::size_t longest = 0;
  for (int process = 0; process < processes; ++process) {
    ledger.joined(process, 0);
    launches.push_back(matched_launches(plans.at(kinds[std::size_t(process)]), document.cluster, process));
    longest = std::max(longest, launches.back().size());
  }
  // Step by step over all processes: what is matched does not pile up.
  for (std::size_t i = 0; i <= longest; ++i)
    for (int process = 0; process < processes; ++process) {
      const auto& own = launches[std::size_t(process)];
      if (i < own.size()) {
        ledger.declare(control::program_evidence(*own[i].program));
        ledger.issued(process, control::call_evidence(own[i]));
      } else if (i == own.size()) {
        end(ledger, process, plans.at(kinds[std::size_t(process)]));
      }
    }
  return judge(ledger.evidence(0));
}

}  // namespace shardlab::scenarios
