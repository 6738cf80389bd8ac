// Scenarios in real processes: one `shardlab worker` each, started and supervised by the launcher.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "scenarios/launch/launcher.h"
#include "scenarios/runner/fault_injector.h"
#include "scenarios/runner/run.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/part.h"

namespace shardlab::scenarios {
namespace {

namespace fs = std::filesystem;

void write_scenario(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw IoError(fmt::format("{} cannot be written; is the disk full?", file.string()));
}

LaunchOptions launch_options(const Loaded& loaded, const RunOptions& options, const fs::path& folder, bool record) {
  LaunchOptions launch;
  launch.argv = {options.program, "worker", "--scenario", (folder / "scenario.json").string(), "--out", folder.string()};
  launch.processes = loaded.document->cluster.processes;
  launch.devices = loaded.document->cluster.devices;
  if (loaded.document->cluster.transport != "auto") launch.transport = loaded.document->cluster.transport;
  launch.environment.emplace_back("SHARDLAB_PLATFORM", loaded.document->cluster.backend);
  if (!loaded.document->cluster.profile.empty())
    launch.environment.emplace_back("SHARDLAB_DEVICE_PROFILE", loaded.document->cluster.profile);
  launch.stuck = std::chrono::milliseconds(loaded.document->limits.stuck_ms);
  launch.limit = std::chrono::milliseconds(limit_of(*loaded.document, options));
  launch.handle_signals = options.handle_signals;
  if (record) {
    launch.trace_dir = options.parts.empty() ? (folder / "parts").string() : options.parts;
    recorder::make_parts_folder(launch.trace_dir);
  }
  return launch;
}

std::string_view without_last_newline(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// The last lines of what a process wrote to its standard error.
std::string last_words(const ProcessEnd& end) {
  constexpr std::size_t kShown = 2000;
  std::string_view text = end.err;
  if (text.size() > kShown) text.remove_prefix(text.size() - kShown);
  return std::string(without_last_newline(text));
}

// `parts` is where the processes recorded.
std::string merge_trace(const Loaded& loaded, const LaunchResult& result, const std::string& parts, const std::string& out,
                        Report& report) {
  recorder::MergeOptions merge;
  merge.directory = parts;
  merge.out = out;
  for (const ProcessEnd& end : result.processes)
    merge.ends.push_back({end.process, end.pid, "", end.exit_code, end.signal, last_words(end)});
  merge.diagnoses = result.diagnoses.empty() ? result.remarks : result.diagnoses;
  merge.evidence = result.evidence;
  merge.title = loaded.name;
  merge.command_line = fmt::format("shardlab replay {}", loaded.source);
  for (const std::string& problem : recorder::merge_parts(merge).problems)
    if (std::string note = "trace: " + problem; std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end())
      report.notes.push_back(std::move(note));
  return merge.out;
}

void note_faults(Report& report, const Document& document, const fs::path& folder) {
  for (std::size_t i = 0; i < document.faults.size(); ++i) {
    const Fault& fault = document.faults[i];
    bool struck = std::any_of(fault.processes.begin(), fault.processes.end(), [&](int process) {
      std::vector<int> fired = FaultInjector::fired(folder, process);
      return std::find(fired.begin(), fired.end(), int(i)) != fired.end();
    });
    if (struck) continue;
    report.status = Status::kInconclusive;
    report.notes.push_back(fmt::format("the fault at {} never struck", fault.pointer));
  }
}

// What the ends of the processes say, beside their outcomes and the verdict.
void note_ends(Report& report, const LaunchResult& result, const std::vector<ProcessOutcome>& outcomes, std::int64_t limit_ms) {
  if (result.interrupted_by != 0) {
    report.interrupted = true;
    report.status = Status::kInconclusive;
    report.message = fmt::format("interrupted by signal {}\n{}", result.interrupted_by, without_last_newline(result.whereabouts));
    return;
  }
  if (result.timed_out && result.diagnoses.empty()) {
    report.status = Status::kInconclusive;
    report.message = fmt::format("not finished after {} ms, the limit", limit_ms);
    if (!result.whereabouts.empty()) report.message += fmt::format("\n{}", without_last_newline(result.whereabouts));
    return;
  }
  if (!result.diagnoses.empty() || outcomes.size() == result.processes.size()) return;
  for (const ProcessEnd& end : result.processes) {
    bool told = std::any_of(outcomes.begin(), outcomes.end(), [&](const ProcessOutcome& each) { return each.process == end.process; });
    if (told) continue;
    report.status = Status::kOurFault;
    report.message = fmt::format("process {} {} without a result", end.process, end.text());
    if (std::string words = last_words(end); !words.empty()) report.message += "\n" + words;
    return;
  }
}

}  // namespace

SpawnedRun run_spawned(Report& report, const Loaded& loaded, const RunOptions& options) {
  const Document& document = *loaded.document;
  SpawnedRun run;
  const fs::path folder = run.folder.path();
  write_scenario(folder / "scenario.json", loaded.text);
  bool record =
      !options.trace.empty() || !options.failure_traces.empty() || !options.parts.empty() || document.find_check<TraceCheck>() != nullptr;
  const LaunchOptions how = launch_options(loaded, options, folder, record);
  LaunchResult result = launch(how);
  for (const ProcessEnd& end : result.processes)
    if (auto outcome = read_outcome(folder, end.process)) run.outcomes.push_back(std::move(*outcome));
  report.diagnoses = result.diagnoses.empty() ? result.remarks : result.diagnoses;
  note_faults(report, document, folder);
  note_ends(report, result, run.outcomes, limit_of(document, options));
  if (!options.parts.empty()) merge_trace(loaded, result, options.parts, options.parts + "/trace.db", report);
  if (record)
    run.merge_trace = [&report, &loaded, folder, parts = how.trace_dir, ended = std::move(result)] {
      return merge_trace(loaded, ended, parts, (folder / "trace.db").string(), report);
    };
  return run;
}

}  // namespace shardlab::scenarios
