// shardlab worker: the processes that `replay` starts.
#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/runner/batch.h"
#include "scenarios/runner/worker.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--scenario", "", "FILE", "the scenario to run as one process of its job"},
    {"--out", "", "DIR", "where the process's result goes"},
    {"--batch", "", "FD", "the socket that scenarios come from"},
};

int run(const Arguments& arguments) {
  if (arguments.has("--batch")) return scenarios::serve_batch(int(arguments.integer("--batch", -1, 0, 1'000'000)));
  auto file = arguments.text("--scenario"), folder = arguments.text("--out");
  if (!file || !folder) throw_user_error("shardlab worker: this command is for shardlab itself; see shardlab replay");
  return scenarios::run_worker(*file, *folder);
}

}  // namespace

const CommandDef kWorker{.name = "worker",
                         .usage = "--scenario FILE --out DIR | --batch FD",
                         .summary = "one process of a scenario; started by replay",
                         .options = kOptions,
                         .hidden = true,
                         .run = run};

}  // namespace shardlab::cli
