// Per-device code in a loop, parted in two: what it does with values that the loop does not change, and the rest, which takes the first
// one's results shard by shard. The first part can leave the loop (hoist.h): an all-gather of weights that every turn uses is done once.
//
// Source: XLA's motion of what is invariant out of loops, which takes the steps of such code one by one.
#pragma once

#include <optional>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// A loop's body with such code parted, the first `consts` of its parameters being what the loop does not change; nothing: no code of it
// does work on these alone, or all of its work is such.
std::optional<BodyPropagation> with_code_split(const BodyPropagation& body, std::size_t consts, const Mesh& mesh);

}  // namespace shardlab::spmd
