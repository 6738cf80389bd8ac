// Scenarios with all their processes inside this one.
#pragma once

#include "scenarios/runner/run.h"
#include "scenarios/runner/simulate.h"

namespace shardlab::scenarios {

// The program with data, one thread a process, without the ledger's schedules: what damage does to values. Of its faults only those that
// change data strike.
struct DataResult {
  std::vector<ProcessOutcome> outcomes;
  std::vector<Diagnosis> diagnoses;
  Evidence evidence;
};
DataResult run_with_data(const Document& document);

struct SimulatedRun {
  std::vector<ProcessOutcome> outcomes;
  std::vector<simulate::ThreadId> choices;  // the schedule that is told of
};

// The scheduler and the rules first: a program that has no verdict then runs with data, one thread a process, unless the document asks for
// its structure alone. Fills everything but the expectations.
SimulatedRun run_simulated(Report& report, const Document& document);

// Of a run that ended without a verdict: what other schedules of its threads, or sends that are not buffered, would have come to.
std::vector<Diagnosis> potential_deadlocks(const Document& document, const PlannedCluster& planned, const simulate::Simulation& ended);

// run: simulated; or auto, where schedules or structure ask for it.
bool is_simulated(const Document& document);

}  // namespace shardlab::scenarios
