// Replicas that should be equal and are not: found at the end of a run, from what the processes hold, without a collective of its own.
#pragma once

#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/runner/outcome.h"
#include "traces/checks/evidence.h"

namespace shardlab::scenarios {

// One diagnosis for each set of processes whose parts differ from the others', with all arrays in which they do.
std::vector<Diagnosis> replica_drift(const Document& document, const std::vector<ProcessOutcome>& outcomes);

// What no redundancy can show, of the shards that the document's faults corrupted: a note each, with the reason. `drift`: what was found.
std::vector<std::string> undetectable_corruptions(const Document& document, const std::vector<ProcessOutcome>& outcomes,
                                                  const std::vector<Diagnosis>& drift);

}  // namespace shardlab::scenarios
