// Partition: from a graph and its shardings to a program of per-device steps with the fewest wire bytes.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

struct PartitionOptions {
  // Results exactly as JAX's; otherwise they may stay in a finer form at fewer bytes.
  bool exact_results = true;
  // Chooses the forms of all values together where that saves bytes; otherwise each op alone, and inner values stay as propagated.
  bool search = true;
};

// Propagates, plans every op and reshard by wire bytes, and writes the steps. The result has been verified.
PartitionedProgram partition(const PropagationInput& input, const PartitionOptions& options = {});

}  // namespace shardlab::spmd
