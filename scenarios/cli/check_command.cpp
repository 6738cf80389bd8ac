// shardlab check: validates and partitions scenarios, and runs nothing.
#include <algorithm>
#include <cstdio>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/document/load.h"
#include "scenarios/runner/expect.h"
#include "scenarios/runner/golden.h"
#include "scenarios/runner/plan.h"
#include "scenarios/runner/simulate.h"
#include "traces/checks/wording.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--process", "-p", "K", "go through the program as process K (default 0)"},
    {"--explain", "-e", "", "say why each value is sharded as it is, who asks for each collective, and what would avoid it"},
    {"--quiet", "-q", "", "print only what is wrong"},
};

// The exit code for one scenario.
int check_one(const scenarios::Loaded& loaded, int process, bool quiet, bool explain) {
  const bool is_expected = loaded.is_program_error && loaded.document->find_check<scenarios::ErrorCheck>() != nullptr;
  if (is_expected && !quiet) fmt::print("{} ends in the error it expects: {}\n", loaded.name, loaded.error);
  if (is_expected) return 0;
  if (!loaded.error.empty()) {
    fmt::print("{} {}\n", loaded.name, red(fmt::format("error {}", loaded.error), 1));
    return kExitUserError;
  }
  const scenarios::Document& document = *loaded.document;
  if (process >= document.cluster.processes)
    throw_user_error("shardlab check: {} has {} processes, there is no process {}", loaded.name, document.cluster.processes, process);
  scenarios::PlannedBefore before;
  scenarios::PlannedProgram planned = plan(document, process, before, {.explain = explain, .events_only = quiet});
  if (!quiet || planned.error)
    fmt::print("{}: {} processes × {} devices\n{}", loaded.name, document.cluster.processes, document.cluster.devices,
               text_of(planned, explain));
  if (planned.error && document.find_check<scenarios::ErrorCheck>() == nullptr) return kExitUserError;
  scenarios::Report report;
  report.diagnoses = foresee(document, before);
  for (const Diagnosis& diagnosis : report.diagnoses) fmt::print("  {}\n", red(places_of(loaded).in(text_of(diagnosis)), 1));
  return has_unexpected_diagnosis(report, document) ? kExitDiagnosed : 0;
}

int run(const Arguments& arguments) {
  if (arguments.positional().empty()) throw_user_error("shardlab check: which scenario? give .json or .jsonl files, or folders");
  int process = int(arguments.integer("--process", 0, 0, 1'000'000));
  int worst = 0;
  for (const std::string& path : arguments.positional())
    for (const scenarios::Loaded& loaded : scenarios::load_path(path))
      worst = std::max(worst, check_one(loaded, process, arguments.has("--quiet"), arguments.has("--explain")));
  return worst;
}

}  // namespace

const CommandDef kCheck{.name = "check",
                        .usage = "FILE… [options]",
                        .summary = "partition scenarios without running them: shardings, collectives, bytes, deadlocks",
                        .details =
                            "The processes' calls are compared as a run would: a deadlock or mismatch is told before it happens.\n"
                            "Exit code: 0, 2 where one is found that the scenario does not expect, 3 where a scenario is wrong.",
                        .options = kOptions,
                        .run = run};

}  // namespace shardlab::cli
