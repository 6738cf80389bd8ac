// What each turn of a scan computes anew of its constants alone, computed once before the scan; of scans, branches and per-device code in
// it the part that does.
//
// JAX does so wherever it cuts a scan by what is known (its `_scan_known_hoisting`), and keeps such values for the other half as they are,
// not in stacks: their cotangents are summed over the turns before they go through what made them.
#pragma once

#include "runtime/graph/builder.h"

namespace shardlab::transform {

struct HoistedBody {
  Graph body;                        // its further constants are behind the others
  std::vector<ValueId> more_consts;  // in the builder
  std::vector<ValueId> kept;         // per result from `first_kept` on: in the builder, where the body does not give it any more, or kZero
};

// `consts`: the body's first parameters, in the builder, which gets what is hoisted.
HoistedBody with_invariants_before(GraphBuilder& b, const Graph& body, const std::vector<ValueId>& consts, std::size_t first_kept);

}  // namespace shardlab::transform
