// shardlab replay: runs scenarios and reports.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/exec/checksums.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/runner/batch.h"
#include "scenarios/runner/golden.h"
#include "scenarios/runner/run.h"
#include "scenarios/runner/shrink.h"
#include "scenarios/runner/simulated_run.h"

namespace shardlab::cli {
namespace {

using scenarios::Loaded;
using scenarios::Replayed;
using scenarios::RunOptions;
using scenarios::Status;

constexpr OptionDef kOptions[] = {
    {"--report", "", "FILE", "write the report as JSON (\"-\": standard output)"},
    {"--junit", "", "FILE", "write JUnit XML, one testcase a scenario"},
    {"--trace", "", "T.db", "keep the trace (of one scenario)"},
    {"--parts", "", "DIR", "processes record into this folder, which stays; `shardlab view DIR` watches the run (of one scenario)"},
    {"--trace-dir", "", "DIR", "keep the traces, one a scenario"},
    {"--no-failure-traces", "", "", "do not keep the traces of spawned runs that do not pass"},
    {"--checksums", "", "", "with --trace, --trace-dir or --parts: record what the values of all results are (of spawned runs)"},
    {"--update", "", "", "record again the traces that are replayed, where something in them differs"},
    {"--shrink", "", "DIR", "write a small scenario of each diagnosis found, which replays it (simulated)"},
    {"--processes", "-n", "N", "on N processes, instead of the document's"},
    {"--devices", "-d", "N", "with N devices each, instead of the document's"},
    {"--run", "", "HOW", "\"spawned\" or \"simulated\" processes, or \"auto\", instead of the document's choice"},
    {"--jobs", "-j", "N", "scenarios at a time (default 1)"},
    {"--limit", "", "S", "seconds that a scenario may take, instead of its limits.run_ms"},
    {"--repeat", "", "N", "run each N times (default 1)"},
    {"--quiet", "-q", "", "print only what does not pass"},
};

struct Plan {
  std::vector<Loaded> scenarios;
  std::map<std::size_t, std::pair<std::string, std::string>> goldens;  // by scenario: the trace, and what it recorded
  bool update = false;
  std::string trace, trace_folder, parts;
  bool keep_failures = true;
  std::optional<std::int64_t> limit_ms;
  std::string shrink_folder;
  int jobs = 1;
  bool quiet = false;

  RunOptions options_of(std::size_t index) const {
    RunOptions options;
    options.limit_ms = limit_ms;
    options.trace = trace;
    options.parts = parts;
    options.handle_signals = jobs == 1;  // one run at a time can
    if (!trace_folder.empty())
      options.trace = fmt::format("{}/{:04}-{}.db", trace_folder, index, file_name(scenarios[index].name));
    else if (keep_failures)
      options.failure_traces = "shardlab-traces";
    return options;
  }
  static std::string file_name(const std::string& name) {
    std::string result;
    for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
    return result.substr(0, 80);
  }
};

scenarios::LoadOptions load_options_of(const Arguments& arguments) {
  constexpr std::int64_t kMax = 65536;  // the document's own limits are lower
  scenarios::LoadOptions options;
  if (arguments.has("--processes")) options.cluster.processes = int(arguments.integer("--processes", 1, 1, kMax));
  if (arguments.has("--devices")) options.cluster.devices = int(arguments.integer("--devices", 1, 1, kMax));
  options.cluster.run = arguments.word("--run", scenarios::kRunModes).value_or("");
  return options;
}

Plan plan_of(const Arguments& arguments) {
  Plan plan;
  if (arguments.positional().empty()) throw_user_error("shardlab replay: which scenario? give .json or .jsonl files, or folders");
  std::int64_t repeat = arguments.integer("--repeat", 1, 1, 1'000'000);
  scenarios::LoadOptions load_options = load_options_of(arguments);
  plan.update = arguments.has("--update");
  for (const std::string& path : arguments.positional()) {
    if (scenarios::is_trace(path)) {
      scenarios::Golden golden = scenarios::read_golden(path);
      plan.goldens[plan.scenarios.size()] = {path, std::move(golden.report)};
      plan.scenarios.push_back(std::move(golden.loaded));
      continue;
    }
    for (Loaded& loaded : scenarios::load_path(path, load_options))
      for (std::int64_t i = 0; i < repeat; ++i) plan.scenarios.push_back(loaded);
  }
  plan.trace = arguments.text("--trace").value_or("");
  plan.trace_folder = arguments.text("--trace-dir").value_or("");
  if (!plan.trace.empty() && plan.scenarios.size() > 1)
    throw_user_error("shardlab replay: --trace keeps one trace, and there are {} scenarios; use --trace-dir", plan.scenarios.size());
  plan.parts = arguments.text("--parts").value_or("");
  if (!plan.parts.empty() && plan.scenarios.size() > 1)
    throw_user_error("shardlab replay: --parts is the folder of one run, and there are {} scenarios", plan.scenarios.size());
  if (arguments.has("--checksums")) ::setenv(kChecksumsVariable, "1", 1);
  plan.shrink_folder = arguments.text("--shrink").value_or("");
  plan.keep_failures = !arguments.has("--no-failure-traces");
  if (auto seconds = arguments.number("--limit", 0.001)) plan.limit_ms = std::int64_t(std::ceil(*seconds * 1000));
  plan.jobs = int(arguments.integer("--jobs", 1, 1, 1024));
  plan.quiet = arguments.has("--quiet");
  return plan;
}

// The scenarios are dealt to `jobs` threads, each with a child for those that need no processes of their own.
class Replay {
 public:
  explicit Replay(const Plan& plan) : plan_(plan), results_(plan.scenarios.size()) {}

  std::vector<Replayed> run() {
    std::vector<std::jthread> threads;
    for (int i = 1; i < plan_.jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    threads.clear();
    std::erase_if(results_, [](const Replayed& each) { return each.json.empty(); });  // not begun when it was interrupted
    return std::move(results_);
  }

 private:
  void work() {
    scenarios::BatchWorker worker;
    for (std::size_t i; (i = next_++) < plan_.scenarios.size();) {
      const Loaded& loaded = plan_.scenarios[i];
      RunOptions options = plan_.options_of(i);
      bool batch = loaded.error.empty() && runs_in_process(*loaded.document, options);
      results_[i] = batch ? worker.run(loaded, limit_of(*loaded.document, options), options.trace)
                          : scenarios::replayed(run_scenario(loaded, options));
      if (std::vector<std::string>& lines = results_[i].summary.lines; !lines.empty()) {
        const traces::StatementPlaces places = scenarios::places_of(loaded);
        for (std::string& line : lines) line = places.in(line);
      }
      if (auto golden = plan_.goldens.find(i); golden != plan_.goldens.end()) compare(golden->second, loaded, options, results_[i]);
      print(results_[i].summary);
      if (!plan_.shrink_folder.empty() && loaded.error.empty()) save_shrunk(loaded);
      if (results_[i].summary.interrupted) next_ = plan_.scenarios.size();
    }
  }

  // What differs from the recording fails the scenario, or is recorded.
  void compare(const std::pair<std::string, std::string>& golden, const Loaded& loaded, RunOptions options, Replayed& result) {
    const auto& [trace, recorded] = golden;
    std::vector<std::string> differences = scenarios::golden_differences(recorded, result.json);
    if (differences.empty()) {
      // It came out as it was recorded: as expected, whatever that is.
      if (result.summary.status == Status::kDiagnosed) result.summary.status = Status::kPassed;
      result.json = scenarios::with_golden(result.json, name_of(result.summary.status), differences);
      return;
    }
    std::vector<std::string>& lines = result.summary.lines;
    for (const std::string& each : differences) lines.push_back(each);
    if (!plan_.update) {
      result.summary.status = scenarios::worst_of({result.summary.status, Status::kFailed});
      lines.push_back(fmt::format("this is not what {} recorded; --update records it again", trace));
      result.json = scenarios::with_golden(result.json, name_of(result.summary.status), differences);
      return;
    }
    options.trace = trace;
    result = scenarios::replayed(run_scenario(loaded, options));
    for (const std::string& each : differences) result.summary.lines.push_back("updated: " + each);
  }

  void save_shrunk(const Loaded& loaded) {
    std::optional<scenarios::Shrunk> shrunk = scenarios::shrink(loaded);
    if (!shrunk) return;
    std::string file = fmt::format("{}/{}-{}.json", plan_.shrink_folder, Plan::file_name(loaded.name), shrunk->code);
    write_text(file, shrunk->text + "\n");
    std::lock_guard lock(mutex_);
    fmt::print("    shrunk in {} runs to {}\n", shrunk->runs, file);
  }

  void print(const scenarios::Summary& summary) {
    std::lock_guard lock(mutex_);
    bool passed = summary.status == Status::kPassed;
    if (passed && plan_.quiet) return;
    std::string text = text_of(summary);
    fmt::print("{}\n", passed ? text : red(text, 1));
    std::fflush(stdout);
  }

  const Plan& plan_;
  std::vector<Replayed> results_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
};

void print_totals(const std::vector<Replayed>& results) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (std::string_view name : {"passed", "failed", "diagnosed", "error", "inconclusive", "skipped"}) {
    std::size_t count = 0;
    for (const Replayed& each : results) count += name_of(each.summary.status) == name;
    if (count > 0) counts.emplace_back(name, count);
  }
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  fmt::print("{} scenarios: {}\n", results.size(), text);
}

int run(const Arguments& arguments) {
  Plan plan = plan_of(arguments);
  std::vector<Replayed> results = Replay(plan).run();
  if (auto path = arguments.text("--report")) {
    std::vector<std::string> reports;
    for (Replayed& each : results) reports.push_back(std::move(each.json));
    write_text(*path, scenarios::joined_json(reports));
  }
  if (auto path = arguments.text("--junit")) {
    std::vector<scenarios::Summary> summaries;
    for (const Replayed& each : results) summaries.push_back(each.summary);
    write_text(*path, to_junit(summaries));
  }
  if (results.size() > 1) print_totals(results);
  std::vector<Status> statuses;
  for (const Replayed& each : results) statuses.push_back(each.summary.status);
  return exit_code_of(scenarios::worst_of(statuses));
}

}  // namespace

const CommandDef kReplay{
    .name = "replay",
    .usage = "FILE… [options]",
    .summary = "run scenarios (.json, .jsonl, folders) and recorded traces (.db), check what they expect, report",
    .details =
        "Exit code: 0 passed, 1 an expectation failed, 2 diagnosed, 3 error, 4 a fault of shardlab,\n"
        "5 inconclusive, 77 skipped; with several scenarios the worst counts, in the order 4 3 2 1 5 77 0.\n"
        "A trace that was recorded from a scenario is a golden run: the scenario runs again, and shardings, collectives,\n"
        "bytes, values and verdicts are compared with the recording by meaning.",
    .options = kOptions,
    .run = run};

}  // namespace shardlab::cli
