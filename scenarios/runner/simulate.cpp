#include "scenarios/runner/simulate.h"

#include <algorithm>
#include <map>

#include "scenarios/document/validate.h"

namespace shardlab::scenarios {
namespace {

// What a process owns of each mesh: how many devices, and where the first of them stands in a process's share.
using Ownership = std::vector<std::pair<int, std::int64_t>>;

// Processes of one kind own alike parts of every mesh too: what they read and hold is alike. Per process.
std::vector<Ownership> ownerships(const Document& document) {
  std::vector<Ownership> owned(std::size_t(document.cluster.processes));
  for (const auto& [name, mesh] : document.meshes) {
    for (Ownership& each : owned) each.emplace_back(0, -1);
    for (std::size_t i = 0; i < mesh.devices().size(); ++i) {
      auto& [count, first] = owned.at(std::size_t(mesh.devices()[i] / document.cluster.devices)).back();
      if (first < 0) first = std::int64_t(i) % document.cluster.devices;
      ++count;
    }
  }
  return owned;
}

bool has_messages(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& each) {
    bool message = std::holds_alternative<SendStep>(each.step) || std::holds_alternative<ReceiveStep>(each.step);
    return message || (each.body() && has_messages(*each.body()));
  });
}

simulate::SimulatedFault::Kind kind_of(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kRaise:
      return simulate::SimulatedFault::Kind::kRaise;
    case FaultKind::kExit:
      return simulate::SimulatedFault::Kind::kExit;
    case FaultKind::kKill:
      return simulate::SimulatedFault::Kind::kKill;
    case FaultKind::kHang:
      return simulate::SimulatedFault::Kind::kHang;
    case FaultKind::kStop:
      return fault.duration_ms == 0 ? simulate::SimulatedFault::Kind::kHang : simulate::SimulatedFault::Kind::kDelay;
    case FaultKind::kDisconnect:
      return simulate::SimulatedFault::Kind::kDisconnect;
    case FaultKind::kSlowLink:
      return simulate::SimulatedFault::Kind::kSlowLink;
    // These change nothing of what processes issue: damage is done in the run with data, no trace is lost, clocks agree.
    case FaultKind::kCorrupt:
    case FaultKind::kTraceDisk:
    case FaultKind::kClock:
      return simulate::SimulatedFault::Kind::kNothing;
    case FaultKind::kDelay:
      break;
  }
  return simulate::SimulatedFault::Kind::kDelay;
}

}  // namespace

PlannedCluster plan_cluster(const Document& document) {
  PlannedBefore before;
  return plan_cluster(document, before, {.explain = false});
}

PlannedCluster plan_cluster(const Document& document, PlannedBefore& before, PlanOptions options) {
  PlannedCluster cluster;
  std::vector<int> ways = first_of_kind(document);
  bool talks = has_messages(document.program);
  std::vector<Ownership> owned = ownerships(document);
  std::map<std::pair<int, Ownership>, std::shared_ptr<const simulate::ProcessPlan>> kinds;
  for (int process = 0; process < document.cluster.processes; ++process) {
    auto& kind = kinds[{ways[std::size_t(process)], owned[std::size_t(process)]}];
    // The ends of messages are named: who sends or receives is of a kind of its own. A record names everybody's devices.
    if (!kind || talks || options.records) {
      PlannedProgram planned = plan(document, process, before, options);
      kind = std::make_shared<simulate::ProcessPlan>(std::move(planned.events));
      cluster.outcomes.push_back(std::move(planned.outcome));
    }
    cluster.plans.push_back(kind);
  }
  return cluster;
}

simulate::ExploreOptions explore_options(const Document& document) {
  simulate::ExploreOptions options;
  options.seed = std::uint64_t(document.seed);
  if (!document.schedules) return options;
  using Policy = simulate::ExploreOptions::Policy;
  const Schedules& wanted = *document.schedules;
  options.policy = wanted.policy == "random"       ? Policy::kRandom
                   : wanted.policy == "pct"        ? Policy::kPct
                   : wanted.policy == "exhaustive" ? Policy::kExhaustive
                   : wanted.policy == "replay"     ? Policy::kReplay
                                                   : Policy::kFifo;
  options.depth = wanted.depth;
  options.count = wanted.count;
  for (const std::string& each : wanted.choices) options.choices.push_back(simulate::thread_from(each));
  return options;
}

simulate::SimulationOptions simulation_options(const Document& document) {
  simulate::SimulationOptions options;
  options.stuck_ms = document.limits.stuck_ms;
  for (const Fault& fault : document.faults) {
    simulate::SimulatedFault simulated{.kind = kind_of(fault), .processes = fault.processes, .statement = fault.statement};
    simulated.iteration = fault.iteration.value_or(0);
    simulated.collective = fault.collective.value_or(-1);
    simulated.after_ms = fault.after_ms.value_or(-1);
    simulated.exit_code = fault.exit_code;
    simulated.delay_ms = fault.duration_ms;
    simulated.factor = fault.factor;
    simulated.text = fmt::format("the scenario's fault {} raises here", fault.pointer);
    options.faults.push_back(std::move(simulated));
  }
  return options;
}

std::vector<Diagnosis> foresee(const Document& document, PlannedBefore& before) {
  if (document.cluster.processes == 1) return {};
  simulate::Simulation simulation(plan_cluster(document, before, {.explain = false, .events_only = true}).plans, {});
  std::unique_ptr<simulate::Schedule> schedule = simulate::fifo_schedule();
  simulation.run(*schedule);
  return simulation.diagnoses();
}

}  // namespace shardlab::scenarios
