// Per-device code that takes what repeats a scalar takes the scalar, and repeats it itself; a number alone it has of its own.
//
// Source: XLA, for which such code has no edges once shardings are chosen: what it does with a repeated scalar is done with the scalar.
#pragma once

#include <optional>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: no code takes such a value.
std::optional<Propagation> with_scalars_taken(const Propagation& propagation, const Mesh& mesh);

}  // namespace shardlab::spmd
