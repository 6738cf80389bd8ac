// Replication checking: whether out_specs claim less than what the values of per-device code may vary over.
#pragma once

#include <string>
#include <vector>

#include "runtime/transform/varying.h"

namespace shardlab {

// UserError with JAX's text, and the reason, where a result may vary over a manual axis that its out_spec does not name.
void check_replication(const Graph& body, const std::vector<Sharding>& in_specs, const std::vector<Sharding>& out_specs, const Mesh& mesh,
                       const std::string& name, const std::vector<std::string>& manual);

}  // namespace shardlab
