// Runs graphs whole, and partitioned programs position by position, with the ops' own kernels: the reference for plans.
#pragma once

#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::testing {

using Bytes = std::vector<std::byte>;

// Every value of the unpartitioned graph's results.
std::vector<Bytes> run_whole(const Graph& graph, const std::vector<Bytes>& params);

// Results put together from the shards; checks on the way that all replicas of a shard are equal.
std::vector<Bytes> run_partitioned(const spmd::PartitionedProgram& program, const std::vector<Bytes>& params);

Bytes random_int32(const Shape& shape, unsigned seed);

}  // namespace shardlab::testing
