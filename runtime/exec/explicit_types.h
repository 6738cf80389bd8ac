// Sharding in types: on meshes with Explicit axes every op's result has a sharding that follows from its operands' alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/exec/array.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/values_on_mesh.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// "float32[4@i,8@j]"; several axes as 8@(i,j).
std::string typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh);
// "f32[4@i,8@j]", as some of JAX's errors have it.
std::string short_typed_text(const TensorType& type, const Spec& spec, const Mesh& mesh);
// "NamedSharding(mesh=AbstractMesh('i': 4, axis_types=(Explicit,)), spec=P('i', None))".
std::string abstract_sharding_text(const Spec& spec, const Mesh& mesh);
// Why a dimension of a result cannot be cut as that of its operand; `word`: "slicing".
std::string indivisible_text(std::string_view word, std::size_t dim, const TensorType& operand, const Spec& spec, const Shape& result,
                             const Mesh& mesh);
// Why a value of this shape cannot have this spec; nothing where it can.
std::string uneven_text(const Spec& spec, const Shape& shape, const Mesh& mesh);

// Why with_sharding_constraint fails on a mesh of Explicit axes; both specs as text.
std::string failed_assertion_text(std::string_view has, std::string_view wanted);
// Why it fails where some of the axes that it names are Explicit, others Auto.
std::string explicit_constraint_text(std::string_view spec, const Mesh& mesh, std::string_view explicit_axes);
// Why reshard, or an op's out_sharding, fails where it names axes that are not Explicit.
std::string reshard_axes_text(std::string_view api, std::string_view spec, std::string_view other_axes);

struct ExplicitTypes {
  Graph graph;
  std::vector<Spec> results;  // the types of the results: their cuts by typed axes
};

// The graph with the shardings that its values' types say, held by constraints; `params` are the parameters' specs (nothing:
// replicated, and not on the mesh), `source` says which other values are on it, `has_out_sharding` tells which results are asked for in
// some sharding. Nothing is left to propagation on Explicit axes; on the Auto axes of the same mesh all is, but for what
// with_sharding_constraint says of them. UserError with JAX's ShardingTypeError texts where an op's result would be ambiguous: operands cut
// differently, a contraction of cut dimensions without an out-sharding, sorting a cut dimension, an axis used twice. In nodes marked by
// auto_axes their axes are left to propagation, in those marked by explicit_axes theirs are typed, on any mesh. Source: jax-ml/jax, the
// sharding rules in jax/_src/lax.
ExplicitTypes with_explicit_types(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Spec>>& params, MeshSource source,
                                  const std::vector<bool>& has_out_sharding);

// The types of the results alone, where `typed` are the axes in types.
std::vector<Spec> types_of_results(const Graph& graph, const Mesh& mesh, AxisSet typed, const std::vector<std::optional<Spec>>& params,
                                   MeshSource source);

// Whether some node is typed on a mesh without Explicit axes.
bool has_explicit_nodes(const Graph& graph, const Mesh& mesh);

}  // namespace shardlab
