// Whether the specs of per-device code fit what they are for. Source of the texts: JAX's shard_map.
#pragma once

#include "runtime/core/sharding.h"

namespace shardlab {

// UserError where a spec has more entries than argument or result number i has dimensions.
void check_map_rank(std::string_view function, const PartitionSpec& spec, const TensorType& type, std::size_t i, bool is_input);

// What one device sees of argument number i; UserError where its dimensions are not divisible.
TensorType mapped_part(std::string_view function, const Mesh& mesh, const PartitionSpec& in_spec, const TensorType& type, std::size_t i);

}  // namespace shardlab
