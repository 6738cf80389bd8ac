// shardlab merge: what the processes of a job recorded, as one trace; also while they run.
#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "traces/recorder/merge.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--out", "-o", "T.db", "the trace (default: trace.db in that folder)"},
    {"--running", "", "", "the processes may be alive: only read, and take from nobody what he has not written yet"},
};

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 1)
    throw_user_error("shardlab merge: which folder? give the one that `shardlab run --parts` recorded into");
  recorder::MergeOptions merge{.directory = arguments.positional()[0], .running = arguments.has("--running")};
  merge.out = arguments.text("--out").value_or(merge.directory + "/trace.db");
  const recorder::MergeResult result = recorder::merge_parts(merge);
  if (result.processes == 0 && !merge.running)
    throw_user_error("shardlab merge: {} has no records of any process: no part-0.db, no ring-0.ring", merge.directory);
  for (const std::string& problem : result.problems) fmt::print(stderr, "shardlab: trace: {}\n", problem);
  return 0;
}

}  // namespace

const CommandDef kMerge{.name = "merge",
                        .usage = "DIR [-o T.db] [--running]",
                        .summary = "make a trace of what processes recorded into a folder, also while they run",
                        .options = kOptions,
                        .run = run};

}  // namespace shardlab::cli
