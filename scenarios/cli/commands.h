// The commands by name.
#pragma once

#include "scenarios/cli/command.h"

namespace shardlab::cli {

extern const CommandDef kRun;
extern const CommandDef kReplay;
extern const CommandDef kCheck;
extern const CommandDef kReport;
extern const CommandDef kExport;
extern const CommandDef kDiff;
extern const CommandDef kMerge;
extern const CommandDef kView;
extern const CommandDef kDoctor;
extern const CommandDef kWorker;

}  // namespace shardlab::cli
