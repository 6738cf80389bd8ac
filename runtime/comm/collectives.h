// The collectives: one definition each, with what it costs and what it means.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/core/tensor_type.h"

namespace shardlab::comm {

// Adding one touches this list alone: recorder, checks, schema and window read CollectiveInfo.
struct CollectiveDef {
  std::string_view name;  // HLO's
  std::string_view doc;
  bool reduces = false;   // combines values with a reduction
  bool by_pairs = false;  // given by (source, target) pairs, not groups
  // The least a ring moves, summed over the g members, where each has `result_bytes` of result.
  std::int64_t (*wire_bytes)(std::int64_t group_size, std::int64_t result_bytes);
  std::string_view dual;  // its transpose
};

std::span<const CollectiveDef* const> all_collectives();
const CollectiveDef* find_collective(std::string_view name);

}  // namespace shardlab::comm
