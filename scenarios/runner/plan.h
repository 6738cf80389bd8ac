// What a program would do, without doing it: shardings, collectives and bytes of each statement.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/exec/program_cache.h"
#include "scenarios/document/document.h"
#include "scenarios/runner/report.h"
#include "scenarios/simulate/process_plan.h"

namespace shardlab::scenarios {

struct PlannedArray {
  std::string name, type, sharding;
  std::int64_t bytes_per_device = 0;
};

// One statement of the program; a loop's body counts as often as it runs.
struct PlannedStatement {
  std::string pointer, op;
  std::vector<PlannedArray> results;
  std::vector<SeenCollective> collectives;  // transfers too
  std::string explanation;                  // why its values are sharded as they are, and why it has collectives
};

struct PlannedProgram {
  std::vector<PlannedStatement> statements;
  simulate::ProcessPlan events;  // what the process would do, for simulated runs
  ProcessOutcome outcome;        // what the process would hold and see, without data
  std::int64_t wire_bytes = 0;
  std::optional<std::string> error;  // what the process would end in
  Where error_where;
};

// What the plans of one document's processes have in common: most programs are the same on all.
struct PlannedBefore {
  std::shared_ptr<ProgramCache> programs = std::make_shared<ProgramCache>();
  std::map<std::shared_ptr<const comm::ProgramInfo>, std::shared_ptr<const ProgramEvidence>> evidence;
};

struct PlanOptions {
  bool explain = true;       // why values lie as they do
  bool events_only = false;  // what the process would issue and read, and nothing of what it would hold
  bool records = false;      // events say what a trace does
};

// As process `process` goes through the document.
PlannedProgram plan(const Document& document, int process, PlannedBefore& before, PlanOptions options = {});

std::string text_of(const PlannedProgram& program, bool with_explanations = false);

}  // namespace shardlab::scenarios
