#include "scenarios/runner/simulated_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "runtime/control/local_control.h"
#include "runtime/exec/context.h"
#include "scenarios/runner/process.h"
#include "scenarios/runner/simulate.h"
#include "scenarios/runner/sweep.h"
#include "scenarios/simulate/explore.h"
#include "scenarios/simulate/thread_transport.h"
#include "traces/checks/check_def.h"
#include "traces/checks/wording.h"

namespace shardlab::scenarios {
namespace {

constexpr int kDataProcessesMax = 64;  // threads with data

std::string schedule_text(const std::vector<simulate::ThreadId>& choices) {
  std::vector<std::string> names;
  for (simulate::ThreadId each : choices) names.push_back(text_of(each));
  return fmt::format("{}", fmt::join(names, " "));
}

// What each process would tell: its own error, or the verdict that ended its waiting.
std::vector<ProcessOutcome> outcomes_of(const Evidence& evidence, const std::vector<Diagnosis>& diagnoses) {
  std::vector<ProcessOutcome> outcomes;
  for (const ProcessEvidence& process : evidence.processes) {
    ProcessOutcome outcome;
    outcome.process = process.process;
    if (process.state == ProcessState::kRaised) {
      outcome.error = process.error;
      outcome.where = process.where;
      outcome.statement = process.statement;
    } else if (!diagnoses.empty() && process.state != ProcessState::kLeft) {
      outcome.error = shardlab::text_of(diagnoses.front());
      outcome.diagnosis = diagnoses.front().code;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

// With data: each process is a thread with a context of its own. Values do not depend on how the threads run.
class DataRun {
 public:
  explicit DataRun(const Document& document)
      : document_(document),
        referee_({.num_processes = document.cluster.processes, .stuck = std::chrono::milliseconds(document.limits.stuck_ms)}),
        outcomes_(std::size_t(document.cluster.processes)) {}

  std::vector<ProcessOutcome> run() {
    std::vector<std::jthread> threads;
    for (int p = 0; p < document_.cluster.processes; ++p) threads.emplace_back([this, p] { run_one(p); });
    threads.clear();
    return std::move(outcomes_);
  }

  Evidence evidence() const { return referee_.evidence(); }
  std::vector<Diagnosis> diagnoses() const {
    referee_.conclude();
    control::VerdictRef verdict = referee_.verdict();
    return verdict ? verdict->diagnoses : std::vector<Diagnosis>();
  }

 private:
  void run_one(int process) {
    auto transport = std::make_shared<simulate::ThreadTransport>(hub_, process);
    auto control =
        std::make_shared<control::LocalLedgerControl>(referee_, process, [transport](const std::string& why) { transport->abort(why); });
    auto collector = std::make_shared<Collector>();
    ContextOptions options;
    options.process_index = process;
    options.devices_per_process.assign(std::size_t(document_.cluster.processes), document_.cluster.devices);
    options.profile = document_.cluster.profile;
    options.platform = document_.cluster.backend;
    options.transport = transport;
    options.control = control;
    options.observers = {collector};
    options.worker_threads = 1;
    Context::set_current(std::make_shared<Context>(std::move(options)));
    FaultInjector faults(document_, process, {});
    collector->at_issue([&](std::int64_t first, std::int64_t count) { faults.before_calls(first, count); });
    ProcessOutcome outcome = run_process(document_, process, *collector, faults, [] { Context::current().leave(); });
    if (outcome.error && outcome.diagnosis.empty())
      control->raised(*outcome.error, Where::at_statement(document_.name, outcome.pointer, outcome.statement));
    Context::set_current(nullptr);
    referee_.died(process, 0, 0, comm::now_ns());
    outcomes_[std::size_t(process)] = std::move(outcome);
  }

  const Document& document_;
  std::shared_ptr<simulate::ThreadHub> hub_ = std::make_shared<simulate::ThreadHub>();
  control::Referee referee_;
  std::vector<ProcessOutcome> outcomes_;
};

void note_unstruck(Report& report, const Document& document, const std::set<int>& struck) {
  int processes = document.cluster.processes;
  for (std::size_t i = 0; i < document.faults.size(); ++i) {
    bool any = std::any_of(struck.begin(), struck.end(), [&](int number) { return number / processes == int(i); });
    if (any) continue;
    report.status = Status::kInconclusive;
    report.notes.push_back(fmt::format("the fault at {} never struck", document.faults[i].pointer));
  }
}

// Whether there was something to damage is known with the data alone.
void note_undamaged(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes) {
  int number = 0;  // among the faults of the run with data
  for (const Fault& fault : document.faults) {
    if (fault.kind != FaultKind::kCorrupt) continue;
    auto struck = [&](const ProcessOutcome& each) { return std::find(each.fired.begin(), each.fired.end(), number) != each.fired.end(); };
    if (std::none_of(outcomes.begin(), outcomes.end(), struck)) {
      report.status = Status::kInconclusive;
      report.notes.push_back(fmt::format("the fault at {} never struck: {} is not bound there", fault.pointer, fault.array));
    }
    ++number;
  }
}

// The run that `make` gives would not end: an alternative to one that did.
void add_alternative(std::vector<Alternative>& alternatives, const std::string& under, const simulate::Simulation& run,
                     const std::string& details) {
  for (const Diagnosis& diagnosis : run.diagnoses())
    if (diagnosis.severity == "error") alternatives.push_back({under, diagnosis.code, diagnosis.message, diagnosis.processes, details});
}

bool sends_buffered(const PlannedCluster& planned) {
  for (const auto& plan : planned.plans)
    for (const simulate::Event& event : plan->events)
      if (event.program && !event.program->channel.empty() && event.program->buffered) return true;
  return false;
}

void add_remarks(Report& report, const Evidence& evidence) {
  std::vector<Diagnosis> found = remarks(evidence);
  report.diagnoses.insert(report.diagnoses.end(), found.begin(), found.end());
}

}  // namespace

DataResult run_with_data(const Document& document) {
  Document damaged = document;
  std::erase_if(damaged.faults, [](const Fault& fault) { return fault.kind != FaultKind::kCorrupt; });
  DataRun data(damaged);
  DataResult result;
  result.outcomes = data.run();
  result.diagnoses = data.diagnoses();
  result.evidence = data.evidence();
  return result;
}

std::vector<Diagnosis> potential_deadlocks(const Document& document, const PlannedCluster& planned, const simulate::Simulation& ended) {
  constexpr std::int64_t kRunsMax = 2000, kFirstRuns = 64;
  Evidence evidence = ended.evidence();
  if (sends_buffered(planned)) {
    simulate::SimulationOptions options = simulation_options(document);
    options.unbuffered_sends = true;
    simulate::Simulation run(planned.plans, options);
    std::unique_ptr<simulate::Schedule> schedule = simulate::fifo_schedule();
    run.run(*schedule);
    add_alternative(evidence.alternatives, "sends that are not buffered", run, "");
  }
  if (document.has_issuers() && !document.schedules) {
    auto make = [&] { return std::make_unique<simulate::Simulation>(planned.plans, simulation_options(document)); };
    // What goes wrong under most schedules is found at once by a few.
    using Policy = simulate::ExploreOptions::Policy;
    simulate::Exploration found =
        simulate::explore(make, {.policy = Policy::kPct, .count = kFirstRuns, .seed = std::uint64_t(document.seed)});
    if (found.found_in_run < 0) found = simulate::explore(make, {.policy = Policy::kExhaustive, .count = kRunsMax});
    if (found.found_in_run >= 0) add_alternative(evidence.alternatives, "another schedule", *found.run, schedule_text(found.choices));
  }
  return evidence.alternatives.empty() ? std::vector<Diagnosis>() : judge(evidence);
}

bool is_simulated(const Document& document) {
  if (document.sweep && document.cluster.run != RunMode::kSpawned) return true;
  if (document.cluster.processes == 1 && !document.schedules && !document.cluster.structure) return false;
  if (document.cluster.run == RunMode::kSimulated) return true;
  return document.cluster.run == RunMode::kAuto && (document.schedules || document.cluster.structure || document.has_issuers());
}

SimulatedRun run_simulated(Report& report, const Document& document) {
  PlannedCluster planned = plan_cluster(document);
  simulate::SimulationOptions options = simulation_options(document);
  auto make = [&] { return std::make_unique<simulate::Simulation>(planned.plans, options); };
  simulate::Exploration found = simulate::explore(make, explore_options(document));
  if (document.sweep) run_sweep(report, document);
  if (document.schedules) report.notes.push_back(fmt::format("schedules: {}", found.covered));
  if (found.found_in_run >= 0 && found.first_run_ended && document.schedules) {
    for (Diagnosis& diagnosis : found.diagnoses) diagnosis.details.emplace_back("schedule", schedule_text(found.choices));
  }
  if (!document.faults.empty()) {
    note_unstruck(report, document, found.run->struck());
    report.notes.push_back("faults of simulated processes are modelled: a kill is its message, a stop is virtual time");
  }
  report.diagnoses = found.diagnoses.empty() ? found.run->diagnoses() : found.diagnoses;
  if (report.diagnoses.empty()) report.diagnoses = potential_deadlocks(document, planned, *found.run);
  bool wrong =
      std::any_of(report.diagnoses.begin(), report.diagnoses.end(), [](const Diagnosis& each) { return each.severity == "error"; });
  // A fault that all processes meet alike leaves no verdict, only its error.
  const auto& ends = found.run->evidence().processes;
  bool faulted = !document.faults.empty() &&
                 std::any_of(ends.begin(), ends.end(), [](const ProcessEvidence& each) { return each.state == ProcessState::kRaised; });
  if (wrong || faulted) return {outcomes_of(found.run->evidence(), report.diagnoses), found.run->choices()};
  if (document.cluster.structure) {
    add_remarks(report, found.run->evidence());
    return {planned.outcomes, found.run->choices()};
  }
  if (document.cluster.processes > kDataProcessesMax) {
    report.notes.push_back(fmt::format("without data: it is computed for at most {} simulated processes", kDataProcessesMax));
    return {planned.outcomes, found.run->choices()};
  }
  DataResult data = run_with_data(document);
  note_undamaged(report, document, data.outcomes);
  report.diagnoses.insert(report.diagnoses.end(), data.diagnoses.begin(), data.diagnoses.end());
  if (!data.diagnoses.empty()) return {std::move(data.outcomes), found.run->choices()};
  // How late a process came is known in virtual time, what it dropped from the run with data.
  Evidence evidence = found.run->evidence();
  for (ProcessEvidence& each : data.evidence.processes) evidence.processes[std::size_t(each.process)].unused = std::move(each.unused);
  add_remarks(report, evidence);
  return {std::move(data.outcomes), found.run->choices()};
}

}  // namespace shardlab::scenarios
