// shardlab check: validates and partitions scenarios, and runs nothing.
#include <cstdio>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/document/load.h"
#include "scenarios/runner/plan.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--process", "-p", "K", "go through the program as process K (default 0)"},
    {"--quiet", "-q", "", "print only what is wrong"},
};

// Whether the scenario holds.
bool check_one(const scenarios::Loaded& loaded, int process, bool quiet) {
  if (!loaded.error.empty()) {
    fmt::print("{} {}\n", loaded.name, red(fmt::format("error {}", loaded.error), 1));
    return false;
  }
  const scenarios::Document& document = *loaded.document;
  if (process >= document.cluster.processes)
    throw_user_error("shardlab check: {} has {} processes, there is no process {}", loaded.name, document.cluster.processes, process);
  scenarios::PlannedProgram planned = plan(document, process);
  if (!quiet || planned.error)
    fmt::print("{}: {} processes × {} devices\n{}", loaded.name, document.cluster.processes, document.cluster.devices, text_of(planned));
  return !planned.error || document.find_check<scenarios::ErrorCheck>() != nullptr;
}

int run(const Arguments& arguments) {
  if (arguments.positional().empty()) throw_user_error("shardlab check: which scenario? give .json or .jsonl files, or folders");
  int process = int(arguments.integer("--process", 0, 0, 1'000'000));
  bool all_hold = true;
  for (const std::string& path : arguments.positional())
    for (const scenarios::Loaded& loaded : scenarios::load_path(path)) all_hold &= check_one(loaded, process, arguments.has("--quiet"));
  return all_hold ? 0 : kExitUserError;
}

}  // namespace

const CommandDef kCheck{.name = "check",
                        .usage = "FILE… [options]",
                        .summary = "validate and partition scenarios without running them: shardings, collectives, bytes",
                        .details = "Exit code: 0, or 3 where a scenario is wrong.",
                        .options = kOptions,
                        .run = run};

}  // namespace shardlab::cli
