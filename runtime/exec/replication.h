// Replication checking: which mesh axes the values of per-device code may vary over, and whether out_specs claim less.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab {

// A set of mesh axes, one bit each.
using VaryingAxes = std::uint64_t;

// Per result of the body, from what its parameters vary over: reductions over axes remove them, axis_index and pvary add theirs, other
// ops give the union of their operands'. Source: the varying manual axes of JAX's shard_map.
std::vector<VaryingAxes> varying_results(const Graph& body, const std::vector<VaryingAxes>& params, const Mesh& mesh);

// UserError with JAX's text, and the reason, where a result may vary over a manual axis that its out_spec does not name.
void check_replication(const Graph& body, const std::vector<Sharding>& in_specs, const std::vector<Sharding>& out_specs, const Mesh& mesh,
                       const std::string& name, const std::vector<std::string>& manual);

}  // namespace shardlab
