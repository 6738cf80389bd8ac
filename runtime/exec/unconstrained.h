// UNCONSTRAINED: dimensions that with_sharding_constraint leaves as they come to lie, JAX's P.UNCONSTRAINED.
//
//   y = with_sharding_constraint(y, mesh, P(UNCONSTRAINED, "a"));   // JAX: NamedSharding(mesh, P(P.UNCONSTRAINED, 'a'))
//   y = with_sharding_constraint(y, P(UNCONSTRAINED, "a"));         // on the arguments' mesh
//
// A Sharding says where each part lies and has no such dimension: NamedSharding, in_shardings and out_shardings refuse them, as JAX refuses
// them but for constraints.
#pragma once

#include "runtime/exec/operand.h"

namespace shardlab {

inline constexpr const char* UNCONSTRAINED = "UNCONSTRAINED";

// `spec`'s entries may be UNCONSTRAINED. UserError with JAX's text where all of the mesh's axes are Explicit.
Array with_sharding_constraint(const Operand& x, const Mesh& mesh, const PartitionSpec& spec);

}  // namespace shardlab
