// The direct exchange between two layouts: each device is sent exactly what it lacks.
#pragma once

#include <optional>
#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

struct Exchange {
  std::vector<Transfer> transfers;  // with what each device keeps, as source == target
  int calls = 0;                    // collective-permutes needed
};

// The most parts that an exchange may have; beyond it reshards go through whole shards.
inline constexpr std::size_t kExchangePartsMax = 1 << 19;

// `held`: per position, the parts of one spec: two of them are equal or disjoint. `wanted`: any boxes. Parts of one shape share a permute
// as long as each position is at most once its source and once its target; as few permutes as possible, by colouring the edges of the
// bipartite graph of sources and targets (König). Nothing where there would be more parts than kExchangePartsMax.
std::optional<Exchange> plan_exchange(const std::vector<Box>& held, const std::vector<Box>& wanted);

}  // namespace shardlab::spmd
