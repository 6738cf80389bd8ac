// Per-device code and loops that take what repeats a scalar take the scalar, and repeat it themselves; a number alone they have of their
// own. So does a scan whose turns each take a part of it, as of the derivative of a sum over what the turns give.
//
// Source: XLA, for which such code has no edges once shardings are chosen, and its sinking of constants into loops: what it does with a
// repeated scalar is done with the scalar.
#pragma once

#include <optional>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: none takes such a value.
std::optional<Propagation> with_scalars_taken(const Propagation& propagation, const Mesh& mesh);

}  // namespace shardlab::spmd
