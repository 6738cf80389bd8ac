// What the random distributions share.
#pragma once

#include "runtime/ops/lower.h"

namespace shardlab::ops {

extern const OpDef kRandomBits, kRandomSplit, kRandomFoldIn, kRandomIndices, kThreefry2x32, kBitcast;

// Random bits in the layout that the config flag threefry_partitionable says.
ValueId random_bits(GraphBuilder& b, ValueId key, const Shape& shape, DType dtype);

// What the kernel of kRandomBits writes for elements [first, last) of a part, row-major, from `result.data` on. `key`: two words.
void random_bits_of_part(const std::byte* key, const MutableView& result, const Shape& whole, std::int64_t first, std::int64_t last);

}  // namespace shardlab::ops
