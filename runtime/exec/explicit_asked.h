// Which values of a graph are asked for in some sharding, where shardings are in types.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab {

// Who changes a type as such, in a constraint's attribute "reshards"; others are ops with out_sharding.
inline constexpr std::string_view kReshard = "reshard";

// Values that are asked for in some sharding: wanted results, and operands of what places them. (with_sharding_constraint asks for nothing:
// it is an assertion, or says how a value lies over the other axes; reshard changes what has a type by itself.)
std::vector<bool> asked_for(const Graph& graph, const std::vector<bool>& has_out_sharding);

}  // namespace shardlab
