// shardlab merge: what the processes of a job recorded, as one trace; also while they run.
#include <cstdio>
#include <iostream>
#include <string>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "traces/recorder/follow.h"
#include "traces/recorder/merge.h"

namespace shardlab::cli {
namespace {

constexpr OptionDef kOptions[] = {
    {"--out", "-o", "T.db", "the trace (default: trace.db in that folder)"},
    {"--running", "", "", "the processes may be alive: only read, and take from nobody what he has not written yet"},
    {"--follow", "", "", "the same again for each line that comes in, at the cost of what is new; answers \"grown\" or \"same\""},
};

// A look for each line: the window asks when it has read what the last one made.
int follow(recorder::Follower follower) {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      fmt::print("{}\n", follower.look().grown ? "grown" : "same");
    } catch (const IoError& error) { fmt::print("failed: {}\n", error.what()); }
    std::fflush(stdout);
  }
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 1)
    throw_user_error("shardlab merge: which folder? give the one that `shardlab run --parts` recorded into");
  recorder::MergeOptions merge{.directory = arguments.positional()[0], .running = arguments.has("--running")};
  merge.out = arguments.text("--out").value_or(merge.directory + "/trace.db");
  if (arguments.has("--follow")) return follow(recorder::Follower(merge.directory, merge.out));
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
