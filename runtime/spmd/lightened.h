// A propagated program with less arithmetic.
#pragma once

#include "runtime/spmd/partition.h"

namespace shardlab::spmd {

// The program that `lighten` makes of a propagated one; its values lie as those that they stand for. Nothing where nothing is left out.
std::optional<Propagation> lightened(const Propagation& propagation, Lighten lighten);

}  // namespace shardlab::spmd
