// The direct exchange between two specs: each device is sent exactly what it lacks.
#pragma once

#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

struct Exchange {
  std::vector<Transfer> transfers;  // with what each device keeps, as source == target
  int calls = 0;                    // collective-permutes needed
};

// The most parts that an exchange may have; beyond it reshards go through whole shards.
inline constexpr std::int64_t kExchangePartsMax = 1 << 19;
std::int64_t exchange_parts(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to);

// Parts of one shape share a permute as long as each position is at most once its source and once its target; as few permutes as
// possible, by colouring the edges of the bipartite graph of sources and targets (König).
Exchange plan_exchange(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to);

}  // namespace shardlab::spmd
