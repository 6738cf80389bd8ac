// What a planner decides about: a propagated program on a mesh, and what is cheap to know of its nodes and values.
#pragma once

#include <vector>

#include "runtime/spmd/candidates.h"
#include "runtime/spmd/region.h"
#include "runtime/spmd/reshard.h"

namespace shardlab::spmd {

class AtomTable;

// Which values with index maps never exist as such, where only index maps read them: their users ask for windows of their operands.
enum class Composition : std::uint8_t {
  kSlices,     // the halves of a roll
  kIndexMaps,  // joins and pads too: a slice of a concatenation asks the parts that it is made of
};

// Immutable but for what it remembers. *Free* values (constant expressions, broadcasts of a scalar) have no form until one is asked for,
// and then are computed in just that. The result of a constraint is another name for its operand: both have one *root*.
// *Composed* values never exist as such: what a window of them needs is asked of their operands.
class Problem {
 public:
  // Refers to the propagation.
  Problem(const Propagation& propagation, const PropagationInput& input, Rounding rounding, Composition composition,
          PartitionOptions for_bodies = {}, LoopConstants loop_constants = LoopConstants::kWhereNeeded);
  // Whether the roundings differ for this program, and whether the compositions do.
  static bool rounding_matters(const Propagation& propagation);
  static bool composition_matters(const Propagation& propagation);

  const Graph& graph() const { return propagation_.graph; }
  const Mesh& mesh() const { return mesh_; }
  const Node& node(NodeId id) const { return graph().nodes[std::size_t(id)]; }
  const TensorType& type(ValueId value) const { return graph().type(value); }

  bool is_free(ValueId value) const { return free_[std::size_t(root(value))]; }
  bool is_composed(ValueId value) const { return composed_[std::size_t(root(value))]; }
  // Of no rank, or free: it is there at no cost.
  bool is_costless(ValueId value) const { return is_free(value) || type(value).rank() == 0; }
  // Whether a node has a plan of its own: it is no constraint, and its results are neither free nor composed.
  bool is_planned(NodeId id) const;
  // Whether a value has to be brought where the node says: a constraint of what exists. A composed value lies so anyway, but is never made;
  // XLA, too, sees the halves of a roll through their constraints.
  bool constrains(NodeId id) const { return node(id).op->is_constraint && !is_composed(node(id).operands[0]); }
  ValueId root(ValueId value) const { return roots_[std::size_t(value)]; }
  // The form that a value is left in where nothing else is cheaper: what was propagated, rounded; of a constraint exactly what it says.
  const Spec& kept(ValueId value) const { return kept_[std::size_t(value)]; }
  // As propagation leaves it, and the same cut evenly.
  Spec propagated_form(ValueId value) const;
  Spec even_form(ValueId value) const;
  // As given; an open parameter takes what was propagated, as far as it is even and of whole axes.
  const Spec& param(std::size_t i) const { return params_[i]; }
  // Of the function: JAX's.
  const Spec& result(std::size_t i) const { return propagation_.results[i]; }
  // The digits of the mesh's axes that some spec of the program tells apart.
  const Axes& atoms() const { return atoms_; }

  // Whether what it gives is known before the program runs.
  bool is_known(NodeId id) const { return !node(id).results.empty() && known_[std::size_t(node(id).results[0])]; }

  // Whether a scatter may be whole on each device.
  bool may_scatter_whole(const Node& scatter) const;

  // Made when asked for.
  const OpShape& op_shape(NodeId id);
  ReshardPlanner& reshards() { return reshards_; }
  // Of a node with bodies the one way to compute it, its bodies partitioned; else nullptr.
  const RegionPlan* region(NodeId id);

 private:
  Spec param_spec(const PropagationInput& input, std::size_t i) const;
  void add_cuts_between_factors(AtomTable& table);

  Mesh mesh_;
  const Propagation& propagation_;
  std::vector<ValueId> roots_;
  std::vector<bool> free_, composed_, known_;  // per value
  std::vector<Spec> kept_;                     // per value
  std::vector<Spec> params_;
  Axes atoms_;
  PartitionOptions for_bodies_;
  Rounding rounding_;
  LoopConstants loop_constants_;
  std::vector<std::optional<OpShape>> shapes_;      // per node
  std::vector<std::optional<RegionPlan>> regions_;  // per node
  ReshardPlanner reshards_;
};

}  // namespace shardlab::spmd
