// Reverse-mode derivatives of graphs: linearize, then transpose.
#pragma once

#include "runtime/transform/linearize.h"

namespace shardlab::transform {

// The graph with further parameters, the cotangents of its floating results, and in place of its results: the results, then the
// cotangents of the `active` parameters. The function that jax.vjp makes, in one piece.
Graph vjp(const Graph& graph, const std::vector<bool>& active);

// The same in two programs: `forward` has the results and then the residuals, `backward` takes the residuals and then the cotangents of
// the results named in `cotangents`, and has the cotangents of the active parameters; `linear` takes the tangents of the active parameters
// and then the residuals, and has the tangents of the same results.
struct Pullback {
  Graph forward, backward, linear;
  std::vector<int> cotangents;  // places among the results; the others do not vary
};
Pullback pullback(const Graph& graph, const std::vector<bool>& active);

// The results, then the gradients of the first result, a scalar, along the `active` parameters. Further results pass through. UserError
// with JAX's texts where the first result is no floating scalar or an active parameter is not floating; `name` is the function's.
// `holomorphic`: of complex numbers, whose derivative is one complex number.
Graph value_and_grad(const Graph& graph, const std::vector<bool>& active, std::string_view name, Where where, bool holomorphic = false);

}  // namespace shardlab::transform
