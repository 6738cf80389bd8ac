// Reverse-mode derivatives of graphs: linearize, then transpose.
#pragma once

#include "runtime/transform/linearize.h"

namespace shardlab::transform {

// The graph with further parameters, the cotangents of its floating results, and in place of its results: the results, then the
// cotangents of the `active` parameters. The function that jax.vjp makes, in one piece.
Graph vjp(const Graph& graph, const std::vector<bool>& active);

// The results, then the gradients of the first result, a scalar, along the `active` parameters. Further results pass through. UserError
// with JAX's texts where the first result is no floating scalar or an active parameter is not floating; `name` is the function's.
Graph value_and_grad(const Graph& graph, const std::vector<bool>& active, std::string_view name, Where where);

}  // namespace shardlab::transform
