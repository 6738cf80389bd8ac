// What several nodes with per-device code do alike, the first of them does, and hands it to the others: an all-gather of one array of
// weights in the code of two layers is done once.
//
// Source: XLA's elimination of common subexpressions, for which such code has no edges; it comes after shardings are chosen.
#pragma once

#include <optional>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Nothing: no two of them exchange or compute the same.
std::optional<Propagation> with_code_shared(const Propagation& propagation, const Mesh& mesh);

}  // namespace shardlab::spmd
