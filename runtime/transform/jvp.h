// Forward-mode derivatives: a graph with its tangents.
//
// Source: "You Only Linearize Once" (2204.10923), after which JAX's jvp, linearize and transpose are made.
#pragma once

#include "runtime/transform/inline.h"

namespace shardlab::transform {

struct WithTangents {
  std::vector<ValueId> results, tangents;  // a tangent is kZero where it is known to be zero
};

// Emits `graph` on `args`, and beside it its derivative along `tangents` (kZero where an argument does not vary). UserError naming the op
// and the user's line where an op that is met has no derivative.
WithTangents emit_jvp(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, const std::vector<ValueId>& tangents);

// The graph with further parameters, the tangents of the parameters that are `active`, and further results, all results' tangents
// (zeros are made; results of integers and bool get none).
Graph jvp(const Graph& graph, const std::vector<bool>& active);

}  // namespace shardlab::transform
