// Inspections: what propagation chose for the values that a user asked about.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Calls the callback of every inspection in the graph (runtime/graph/inspection.h), those in bodies too, in the program's order: in loops
// and branches with the shardings that the body's values have; in per-device code a value is each device's own, on all of them.
void run_inspections(const PropagationInput& input);
// Those of per-device code on a mesh.
void run_inspections(const Graph& per_device, const Mesh& mesh);

}  // namespace shardlab::spmd
