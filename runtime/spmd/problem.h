// What a planner decides about: a propagated program on a mesh, and what is cheap to know of its nodes and values.
#pragma once

#include <vector>

#include "runtime/spmd/candidates.h"
#include "runtime/spmd/region.h"
#include "runtime/spmd/reshard.h"

namespace shardlab::spmd {

// Immutable but for what it remembers. *Free* values (constant expressions, broadcasts of a scalar) have no form until one is asked for,
// and then are computed in just that. The result of a constraint is another name for its operand: both have one *root*.
class Problem {
 public:
  Problem(Propagation propagation, const PropagationInput& input);

  const Graph& graph() const { return propagation_.graph; }
  const Mesh& mesh() const { return mesh_; }
  const Propagation& propagation() const { return propagation_; }
  const Node& node(NodeId id) const { return graph().nodes[std::size_t(id)]; }
  const TensorType& type(ValueId value) const { return graph().type(value); }

  bool is_free(ValueId value) const { return free_[std::size_t(root(value))]; }
  // Whether a node needs no plan of its own: a constraint, or all of its results are free.
  bool is_planned(NodeId id) const;
  ValueId root(ValueId value) const { return roots_[std::size_t(value)]; }
  // The form that a value is left in where nothing else is cheaper: the even part of what was propagated.
  const Spec& kept(ValueId value) const { return kept_[std::size_t(value)]; }
  // As given; an open parameter takes what was propagated, as far as it is even and of whole axes.
  const Spec& param(std::size_t i) const { return params_[i]; }
  // Of the function: JAX's.
  const Spec& result(std::size_t i) const { return propagation_.results[i]; }
  // The digits of the mesh's axes that some spec of the program tells apart.
  const Axes& atoms() const { return atoms_; }

  // Made when asked for.
  const OpShape& op_shape(NodeId id);
  ReshardPlanner& reshards() { return reshards_; }
  // Of a node with bodies the one way to compute it, its bodies partitioned; else nullptr.
  const RegionPlan* region(NodeId id);

  // Gives the propagation away; nothing else may be asked afterwards.
  Propagation take() && { return std::move(propagation_); }

 private:
  Spec param_spec(const PropagationInput& input, std::size_t i) const;

  Mesh mesh_;
  Propagation propagation_;
  std::vector<ValueId> roots_;
  std::vector<bool> free_;  // per value
  std::vector<Spec> kept_;  // per value
  std::vector<Spec> params_;
  Axes atoms_;
  std::vector<std::optional<OpShape>> shapes_;      // per node
  std::vector<std::optional<RegionPlan>> regions_;  // per node
  ReshardPlanner reshards_;
};

}  // namespace shardlab::spmd
