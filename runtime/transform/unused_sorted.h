// What sorts carry along for nobody.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// The graph whose sorts take their keys, and of what is sorted along only that whose result has a user. Source: XLA's sort simplifier,
// which runs before shardings propagate.
Graph without_unused_sorted(const Graph& graph);

}  // namespace shardlab::transform
