// shardlab diff: the first divergence between two runs.
#include <cstdio>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "traces/diff.h"

namespace shardlab::cli {
namespace {

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 2) throw_user_error("shardlab diff: which two traces? give LEFT.db RIGHT.db");
  traces::TraceReader left(arguments.positional()[0]), right(arguments.positional()[1]);
  std::vector<traces::Difference> found = traces::differences(left, right);
  for (const traces::Difference& each : found) fmt::print("{}\n", text_of(each));
  if (found.empty()) fmt::print("the runs agree in devices, launches, collectives, bytes, arrays and verdicts\n");
  return found.empty() ? 0 : 1;
}

}  // namespace

const CommandDef kDiff{.name = "diff",
                       .usage = "LEFT.db RIGHT.db",
                       .summary = "where two runs first differ: launches, collectives, bytes, shardings, verdicts; not time",
                       .details = "Exit code: 0 where they agree, 1 where they differ.",
                       .options = {},
                       .run = run};

}  // namespace shardlab::cli
