#include "runtime/comm/collectives.h"

namespace shardlab::comm {
namespace {

using Bytes = std::int64_t;

constexpr CollectiveDef kAllReduce = {
    .name = "all-reduce",
    .doc = "Every member gets the combination of all members' values.",
    .reduces = true,
    .wire_bytes = [](Bytes g, Bytes r) { return 2 * (g - 1) * r; },
    .dual = "all-reduce",
};
constexpr CollectiveDef kAllGather = {
    .name = "all-gather",
    .doc = "Every member gets the concatenation of all members' shards.",
    .wire_bytes = [](Bytes g, Bytes r) { return (g - 1) * r; },
    .dual = "reduce-scatter",
};
constexpr CollectiveDef kReduceScatter = {
    .name = "reduce-scatter",
    .doc = "Member m gets part m of the combination of all members' values.",
    .reduces = true,
    .wire_bytes = [](Bytes g, Bytes r) { return (g - 1) * g * r; },
    .dual = "all-gather",
};
constexpr CollectiveDef kAllToAll = {
    .name = "all-to-all",
    .doc = "Member m gets part m of every member's shard: the cut moves from one dimension to another.",
    .wire_bytes = [](Bytes g, Bytes r) { return (g - 1) * r; },
    .dual = "all-to-all",
};
constexpr CollectiveDef kCollectivePermute = {
    .name = "collective-permute",
    .doc = "Each target gets its source's part; by pairs. Costs its result once for every pair that differs.",
    .by_pairs = true,
    .wire_bytes = [](Bytes pairs, Bytes r) { return pairs * r; },
    .dual = "collective-permute",
};

constexpr CollectiveDef kCollectiveBroadcast = {
    .name = "collective-broadcast",
    .doc = "Every member gets the value of one of them.",
    .wire_bytes = [](Bytes g, Bytes r) { return (g - 1) * r; },
    .dual = "all-reduce",
};

constexpr const CollectiveDef* kAll[] = {&kAllReduce, &kAllGather, &kReduceScatter, &kAllToAll, &kCollectivePermute, &kCollectiveBroadcast};

}  // namespace

std::span<const CollectiveDef* const> all_collectives() { return kAll; }

const CollectiveDef* find_collective(std::string_view name) {
  for (const CollectiveDef* collective : kAll)
    if (collective->name == name) return collective;
  return nullptr;
}

}  // namespace shardlab::comm
