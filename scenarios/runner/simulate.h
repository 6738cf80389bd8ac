// A document as a simulated run: every process planned, then run by the scheduler, with the document's faults.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/runner/outcome.h"
#include "scenarios/runner/plan.h"
#include "scenarios/simulate/explore.h"
#include "scenarios/simulate/process_plan.h"
#include "scenarios/simulate/simulation.h"
#include "traces/checks/evidence.h"

namespace shardlab::scenarios {

struct PlannedCluster {
  // Per process what it would do; processes that go the same way share one plan.
  std::vector<std::shared_ptr<const simulate::ProcessPlan>> plans;
  std::vector<ProcessOutcome> outcomes;  // of one process of each kind: what it would hold and see, without data
};
PlannedCluster plan_cluster(const Document& document, PlannedBefore& before, PlanOptions options);
PlannedCluster plan_cluster(const Document& document);

simulate::ExploreOptions explore_options(const Document& document);

simulate::SimulationOptions simulation_options(const Document& document);

// The verdict on what all processes would issue, in the order of processes and without faults.
std::vector<Diagnosis> foresee(const Document& document, PlannedBefore& before);

}  // namespace shardlab::scenarios
