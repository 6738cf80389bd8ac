// The machine of a planned process: it prepares every program and launches none.
#pragma once

#include <memory>

#include "scenarios/runner/machine.h"
#include "scenarios/runner/plan_recorder.h"

namespace shardlab::scenarios {

// Of one of `processes` processes, in the current context. What it would do goes to the recorder, which outlives it.
std::unique_ptr<Machine> plan_machine(int processes, PlanRecorder& recorder);

}  // namespace shardlab::scenarios
