// What of a loop's body follows from values that the loop does not change.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::spmd {

struct Invariants {
  std::vector<bool> varies;  // per value
  std::vector<bool>
      is_work;  // per node: worth doing once, before the loop; constants and what repeats a scalar cost nothing where they are used
};
// By the parameters that vary.
Invariants invariants(const Graph& graph, const std::vector<bool>& varying_params);
// Of a loop's body: all but the first `consts`.
Invariants invariants(const Graph& body, std::size_t consts);

}  // namespace shardlab::spmd
