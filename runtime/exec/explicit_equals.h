// Ops whose operands have one type: joined values, and those that are selected from.
#pragma once

#include <optional>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// What is known of a graph's values where types are given.
struct TypedValues {
  const Graph& graph;
  const Mesh& mesh;
  const std::vector<bool>& is_constant;
  const std::vector<bool>& on_mesh;
};

// Which dimension vmap repeats a value along; -1: none.
std::int64_t repeated_dim(const Graph& graph, ValueId value);

// Whether an op repeats an operand by `made` for a selection of the same call: that is cut as all that it takes together.
bool is_broadcast_for(const Node& made, const Node& selection);
// Nothing for a parameter.
const Node* producer_of(const Graph& graph, ValueId value);

// The result's type where `node` joins values; UserError with JAX's texts where the operands' types differ, unless the result `is_asked`
// for in some sharding. Values that are not on the mesh take the others' type, and so do constants that the op made itself.
// Source: _concatenate_sharding_rule, _select_sharding_rule and _broadcast_arrays in JAX.
std::optional<Spec> type_of_equals(const TypedValues& values, const Node& node, const std::vector<Spec>& operands, bool is_asked);

}  // namespace shardlab
