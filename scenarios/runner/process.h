// Runs a scenario's program as one process, and takes down what it saw and holds.
#pragma once

#include <memory>

#include "runtime/exec/array.h"
#include "scenarios/document/document.h"
#include "scenarios/runner/collector.h"
#include "scenarios/runner/fault_injector.h"
#include "scenarios/runner/outcome.h"

namespace shardlab::scenarios {

// An array as reports know it, without its data.
BoundArray bound_array(const std::string& name, const Array& array);

// On the thread's context, which `collector` observes. `finish` runs once the program has ended and its arrays are read (leaving the
// job); what it throws counts as the program's. Never throws for what the program does.
ProcessOutcome run_process(const Document& document, int process, const Collector& collector, FaultInjector& faults,
                           const std::function<void()>& finish);

// The whole scenario in this process, with a context of its own: one process of the cluster's devices.
ProcessOutcome run_in_process(const Document& document);

}  // namespace shardlab::scenarios
