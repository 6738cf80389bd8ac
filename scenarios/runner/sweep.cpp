#include "scenarios/runner/sweep.h"

#include <algorithm>

#include "scenarios/runner/replicas.h"
#include "scenarios/runner/simulate.h"
#include "scenarios/runner/simulated_run.h"

namespace shardlab::scenarios {
namespace {

// The collectives that a process's launches count, as faults count them.
std::int64_t collectives_of(const simulate::ProcessPlan& plan) {
  std::int64_t count = 0;
  for (const simulate::Event& event : plan.events) count += event.collectives;
  return count;
}

// What a fault must lead to, from what it does.
std::string wanted_class(FaultKind kind, const Fault& fault) {
  switch (kind) {
    case FaultKind::kRaise:
      return "process-raised";
    case FaultKind::kExit:
      return "process-exited";
    case FaultKind::kKill:
      return "process-killed";
    case FaultKind::kHang:
      return "process-stuck";
    case FaultKind::kStop:
      return fault.duration_ms == 0 ? "process-stuck" : "endured";
    case FaultKind::kDisconnect:
      return "process-exited";
    // Whether a replica could show it is known with the cell.
    case FaultKind::kCorrupt:
    case FaultKind::kDelay:
    case FaultKind::kSlowLink:
    case FaultKind::kClock:
    case FaultKind::kTraceDisk:
      break;
  }
  return "endured";
}

Fault at_call(Fault fault, int process, std::int64_t call) {
  fault.statement.clear();
  fault.after_ms.reset();
  fault.collective = call;
  fault.processes = {process};
  return fault;
}

// Damage is found where a replica that is still there at the end tells another value; all else no redundancy could show, and is said so.
SweepCell damage_of(const Document& document, int process, std::int64_t call, const Fault& fault) {
  Document one = document;
  one.faults = {at_call(fault, process, call)};
  DataResult damaged = run_with_data(one);
  SweepCell cell{process, call, fault.text, "", false};
  bool fired =
      std::any_of(damaged.outcomes.begin(), damaged.outcomes.end(), [](const ProcessOutcome& each) { return !each.fired.empty(); });
  std::vector<Diagnosis> drift = replica_drift(one, damaged.outcomes);
  std::vector<std::string> notes = undetectable_corruptions(one, damaged.outcomes, drift);
  if (!fired) {
    cell.outcome = "nothing to corrupt";
    cell.as_expected = drift.empty();
  } else if (!drift.empty()) {
    cell.outcome = "drift";
    cell.as_expected = std::find(drift[0].processes.begin(), drift[0].processes.end(), process) != drift[0].processes.end();
  } else {
    cell.outcome = notes.empty() ? "not classified" : "undetectable";
    cell.as_expected = !notes.empty();
  }
  return cell;
}

SweepCell cell_of(const PlannedCluster& planned, const Document& document, int process, std::int64_t call, const Fault& fault) {
  if (fault.kind == FaultKind::kCorrupt) return damage_of(document, process, call, fault);
  Document one;
  one.limits = document.limits;
  one.faults = {at_call(fault, process, call)};
  simulate::Simulation run(planned.plans, simulation_options(one));
  std::unique_ptr<simulate::Schedule> schedule = simulate::fifo_schedule();
  run.run(*schedule);
  SweepCell cell{process, call, fault.text, "", false};
  bool struck = !run.struck().empty();
  if (!struck) {
    cell.outcome = "never struck";
  } else if (run.diagnoses().empty()) {
    bool ended = std::all_of(run.evidence().processes.begin(), run.evidence().processes.end(),
                             [](const ProcessEvidence& each) { return each.state == ProcessState::kLeft; });
    cell.outcome = ended ? "endured" : "not classified";
  } else {
    cell.outcome = run.diagnoses().front().code;
    bool named = run.diagnoses().front().processes == std::vector<int>{process};
    if (!named) cell.outcome += " of another process";
  }
  // A single process that raises is the program's own error, and no diagnosis.
  bool alone = planned.plans.size() == 1 && fault.kind == FaultKind::kRaise;
  cell.as_expected = cell.outcome == wanted_class(fault.kind, fault) || alone;
  return cell;
}

}  // namespace

void run_sweep(Report& report, const Document& document) {
  PlannedCluster planned = plan_cluster(document);
  for (int process : document.sweep->processes) {
    std::int64_t calls = collectives_of(*planned.plans[std::size_t(process)]);
    for (std::int64_t call = 0; call < calls; ++call)
      for (const Fault& fault : document.sweep->faults) report.sweep.push_back(cell_of(planned, document, process, call, fault));
  }
  std::map<std::string, std::int64_t> counts;
  std::int64_t wrong = 0;
  for (const SweepCell& cell : report.sweep) {
    ++counts[cell.outcome];
    wrong += !cell.as_expected;
  }
  std::string text = fmt::format("sweep: {} cells", report.sweep.size());
  for (const auto& [outcome, count] : counts) text += fmt::format(", {} {}", count, outcome);
  report.notes.push_back(text);
  if (wrong == 0) return;
  report.status = Status::kInconclusive;
  report.message = fmt::format("{} of {} cells of the sweep have another class than their fault", wrong, report.sweep.size());
}

}  // namespace shardlab::scenarios
