// Partition: from a graph and its shardings to a program of per-device steps with the fewest wire bytes.
#pragma once

#include <functional>

#include "runtime/graph/lighter_graph.h"
#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// The same program with less arithmetic, or nothing; it may make one value of two that lie alike.
using Lighten = std::optional<LighterGraph> (*)(const Graph&, const LieAlike& lie_alike);

class BodyPlans;

struct PartitionOptions {
  // Results exactly as JAX's; otherwise they may stay in a finer form at fewer bytes.
  bool exact_results = true;
  // Chooses the forms of all values together where that saves bytes; otherwise each op alone, and inner values stay as propagated.
  bool search = true;
  // Applied once shardings are chosen, and taken where that moves no more bytes, or less arithmetic for no more bytes than op by op;
  // nullptr: every node is computed as it is written.
  Lighten lighten = nullptr;
  // Scatters may do the work of all of their updates on each device, as XLA's do in code over some axes of the mesh, and where they combine
  // and some axes of it are Explicit: JAX's constraints hide from XLA what they combine by.
  bool scatters_whole = false;
  // Where bodies that were planned by these options are remembered; nullptr: in a place of the partition's own.
  BodyPlans* body_plans = nullptr;
};

// Propagates, plans every op and reshard by wire bytes, and writes the steps. The result has been verified.
PartitionedProgram partition(const PropagationInput& input, const PartitionOptions& options = {});
// The same of what has been propagated.
PartitionedProgram partition(const PropagationInput& input, Propagation propagated, const PartitionOptions& options = {});

}  // namespace shardlab::spmd
