// A graph for every element of a batch at once (vmap).
#pragma once

#include "runtime/transform/inline.h"

namespace shardlab::transform {

// Emits `graph` on arguments of which some have the batch as a dimension. The results, batched where they depend on batched arguments.
// UserError naming the op and the user's line where an op that is met cannot be batched.
std::vector<Batched> emit_batched(GraphBuilder& b, const Graph& graph, const std::vector<Batched>& args, const BatchAxis& axis);

// For errors: the user's call, and where in its tree each result is ("[1]['w']").
struct BatchSite {
  Where where = {};
  std::vector<std::string> result_paths = {};
  bool is_typed = false;  // where shardings are in types, results that do not depend on the batch are cut along it as the first argument is
};

// The graph with parameters that have the batch as dimension `in_dims[i]` (kNotBatched: none), and results that have it as dimension
// `out_dims[i]` (kNotBatched: the result must not depend on the batch; UserError with JAX's text).
Graph batch(const Graph& graph, const std::vector<int>& in_dims, const std::vector<int>& out_dims, const BatchAxis& axis,
            const BatchSite& site = {});

}  // namespace shardlab::transform
