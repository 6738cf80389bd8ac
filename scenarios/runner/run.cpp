#include "scenarios/runner/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "runtime/exec/platform.h"
#include "scenarios/runner/expect.h"
#include "scenarios/runner/golden.h"
#include "scenarios/runner/process.h"
#include "scenarios/runner/replicas.h"
#include "scenarios/runner/simulated_run.h"
#include "scenarios/runner/simulated_trace.h"

namespace shardlab::scenarios {
namespace {

namespace fs = std::filesystem;

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A document that is wrong; or whose program would end in an error, which an expectation may want.
void report_document_error(Report& report, const Loaded& loaded) {
  report.status = Status::kError;
  report.message = loaded.error;
  report.pointer = loaded.pointer;
  if (!loaded.is_program_error || loaded.document->find_check<ErrorCheck>() == nullptr) return;
  ProcessOutcome outcome;
  outcome.error = loaded.error;
  report.status = Status::kPassed;
  judge_expectations(report, *loaded.document, {outcome}, "");
}

// Without the platform a scenario is skipped: it says nothing of it, and never passes.
bool is_skipped(Report& report, const Document& document) {
  const PlatformDef* platform = find_platform(document.cluster.backend);
  if (platform == nullptr) return false;
  std::string missing = platform->missing();
  if (missing.empty()) return false;
  report.status = Status::kSkipped;
  report.message = fmt::format("no {} device: {}", platform->name, missing);
  return true;
}

std::string file_name_of(std::string_view name) {
  std::string result;
  for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
  return result.substr(0, 100);
}

void make_folder_of(const fs::path& file) {
  if (file.has_parent_path()) fs::create_directories(file.parent_path());
}

void keep(const std::string& from, const fs::path& to) {
  make_folder_of(to);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

// Where the trace of a run with this result is kept, or "".
std::string kept_trace(const Report& report, const RunOptions& options) {
  if (!options.trace.empty()) return options.trace;
  if (options.failure_traces.empty() || report.status == Status::kPassed) return "";
  return (fs::path(options.failure_traces) / (file_name_of(report.name) + ".db")).string();
}

// What the processes hold against each other, where no verdict cut the run short.
void compare_replicas(Report& report, const Document& document, const std::vector<ProcessOutcome>& outcomes) {
  auto is_error = [](const Diagnosis& each) { return each.severity == "error"; };
  if (document.cluster.structure || std::any_of(report.diagnoses.begin(), report.diagnoses.end(), is_error)) return;
  std::vector<Diagnosis> drift = replica_drift(document, outcomes);
  for (std::string& note : undetectable_corruptions(document, outcomes, drift)) report.notes.push_back(std::move(note));
  report.diagnoses.insert(report.diagnoses.end(), drift.begin(), drift.end());
}

void run_document(Report& report, const Loaded& loaded, const RunOptions& options) {
  const Document& document = *loaded.document;
  if (is_simulated(document)) {
    SimulatedRun run = run_simulated(report, document);
    gather(report, document, run.outcomes);
    compare_replicas(report, document, run.outcomes);
    std::optional<ScratchFolder> temporary;
    std::string trace = options.trace;
    if (trace.empty() && document.find_check<TraceCheck>() != nullptr) trace = temporary.emplace("trace") / "trace.db";
    if (!trace.empty()) {
      make_folder_of(trace);
      SimulatedTrace wanted{trace, loaded.name, fmt::format("shardlab replay {}", loaded.source), std::move(run.choices), report.diagnoses};
      for (const std::string& problem : write_simulated_trace(document, wanted)) report.notes.push_back("trace: " + problem);
    }
    judge_expectations(report, document, run.outcomes, trace);
    report.trace = options.trace;
    if (!report.trace.empty()) keep_golden(report.trace, loaded, to_json(report));
    return;
  }
  if (runs_in_process(document, options)) {
    std::vector<ProcessOutcome> outcomes = {run_in_process(document)};
    if (outcomes[0].records_lost) report.status = Status::kInconclusive;
    gather(report, document, outcomes);
    judge_expectations(report, document, outcomes, "");
    return;
  }
  SpawnedRun run = run_spawned(report, loaded, options);
  gather(report, document, run.outcomes);
  compare_replicas(report, document, run.outcomes);
  std::string trace = document.find_check<TraceCheck>() != nullptr ? run.merge_trace() : "";
  judge_expectations(report, document, run.outcomes, trace);
  report.trace = run.merge_trace ? kept_trace(report, options) : "";
  if (!report.trace.empty()) {
    keep(trace.empty() ? run.merge_trace() : trace, report.trace);
    keep_golden(report.trace, loaded, to_json(report));
  }
}

}  // namespace

bool runs_in_process(const Document& document, const RunOptions& options) {
  if (is_simulated(document)) return true;
  return document.cluster.processes == 1 && document.cluster.run != RunMode::kSpawned && document.faults.empty() &&
         document.find_check<TraceCheck>() == nullptr && options.trace.empty() && options.parts.empty();
}

std::int64_t limit_of(const Document& document, const RunOptions& options) { return options.limit_ms.value_or(document.limits.run_ms); }

Report run_scenario(const Loaded& loaded, const RunOptions& options) {
  Report report;
  report.name = loaded.name;
  report.source = loaded.source;
  double begin = now_ms();
  try {
    if (!loaded.error.empty())
      report_document_error(report, loaded);
    else if (!is_skipped(report, *loaded.document))
      run_document(report, loaded, options);
  } catch (const UserError& error) {
    report.status = Status::kError;
    report.message = error.what();
  } catch (const std::exception& error) {
    report.status = Status::kOurFault;
    report.message = error.what();
  }
  report.duration_ms = now_ms() - begin;
  return report;
}

}  // namespace shardlab::scenarios
