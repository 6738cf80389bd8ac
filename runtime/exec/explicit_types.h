// Sharding in types: on meshes with Explicit axes every op's result has a sharding that follows from its operands' alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/exec/array.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// "float32[4@i,8@j]"; several axes as 8@(i,j).
std::string typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh);

// Why with_sharding_constraint fails on a mesh of Explicit axes; both specs as text.
std::string failed_assertion_text(std::string_view has, std::string_view wanted);

// The graph with the shardings that its values' types say, held by constraints; `params` are the parameters' specs (nothing:
// replicated), `has_out_sharding` tells which results are asked for in some sharding. Nothing is left to propagation on Explicit axes.
// UserError with JAX's ShardingTypeError texts where an op's result would be ambiguous: operands cut differently, a contraction of cut
// dimensions without an out-sharding, sorting a cut dimension, an axis used twice.
// Nodes marked by auto_axes are left to propagation, on any mesh those marked by explicit_axes are typed.
// Source: jax-ml/jax, the sharding rules in jax/_src/lax.
Graph with_explicit_types(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Spec>>& params,
                          const std::vector<bool>& has_out_sharding);

// The name of the op that a user called, as nodes of auto_axes (kAuto) and explicit_axes (kExplicit) have it.
std::string marked(std::string_view user_op, AxisType type);
// Whether some node is typed on any mesh.
bool has_explicit_nodes(const Graph& graph);

}  // namespace shardlab
