// What the random distributions share.
#pragma once

#include "runtime/ops/lower.h"

namespace shardlab::ops {

extern const OpDef kRandomBits, kRandomSplit, kRandomFoldIn, kRandomIndices, kThreefry2x32, kBitcast;

// Random bits in the layout that the config flag threefry_partitionable says.
ValueId random_bits(GraphBuilder& b, ValueId key, const Shape& shape, DType dtype);

}  // namespace shardlab::ops
