// All commands, in the order that --help shows them.
#include "scenarios/cli/commands.h"

namespace shardlab::cli {

std::span<const CommandDef* const> all_commands() {
  static constexpr const CommandDef* kCommands[] = {&kRun,  &kReplay, &kCheck, &kReport, &kExport,
                                                    &kDiff, &kMerge,  &kView,  &kDoctor, &kWorker};
  return kCommands;
}

}  // namespace shardlab::cli
