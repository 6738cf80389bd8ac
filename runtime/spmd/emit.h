// Writes the steps of a partitioned program, and knows in which forms each value is at hand.
#pragma once

#include <vector>

#include "runtime/spmd/candidates.h"
#include "runtime/spmd/reduce.h"

namespace shardlab::spmd {

struct MoveCost {
  std::int64_t bytes = 0;
  int collectives = 0;
  int moves = 0;  // free slices too
  MoveCost& operator+=(const MoveCost& other);
};

// Who needs a form, for the step's record.
struct Need {
  NodeId node = -1;
  std::string cause;
};

// Grows a program step by step. A value's forms are its slots that are no partial results; a form made for one user serves the later
// ones. The result of a constraint shares its operand's forms. *Free* values (constant expressions, broadcasts of a scalar) have no
// form until one is asked for, and then are computed in just that.
class Emitter {
 public:
  Emitter(Graph graph, Mesh mesh);

  const Graph& graph() const { return program_.graph; }
  const Mesh& mesh() const { return program_.mesh; }
  ReshardPlanner& reshards() { return reshards_; }
  const OpShape& op_shape(NodeId node);
  bool is_free(ValueId value) const { return free_[std::size_t(root(value))]; }
  const TensorType& type(ValueId value) const { return program_.graph.type(value); }

  // Of the cheapest form at hand: bytes alone, and in full.
  std::int64_t bytes_to(ValueId value, const Spec& wanted);
  MoveCost cost_to(ValueId value, const Spec& wanted);
  // The spec of the form that would be taken.
  Spec form_for(ValueId value, const Spec& wanted);
  std::vector<Spec> forms(ValueId value) const;

  void add_param(ValueId value, const Spec& spec);
  // The result of a constraint: from now on another name for its operand.
  void add_alias(ValueId name, ValueId of) { roots_[std::size_t(name)] = root(of); }
  // The slot of a form of the value, made where it is not at hand. `wanted` is normalised and even.
  SlotId obtain(ValueId value, const Spec& wanted, const Need& need);
  // Computes a node as the candidate says and brings its results into the wanted forms.
  void compute(NodeId node, const Candidate& candidate, const std::vector<Spec>& wanted);
  // A result of the function: the form in exactly these terms.
  void add_result(ValueId value, const Spec& spec, bool may_be_finer);

  PartitionedProgram finish() { return std::move(program_); }

 private:
  ValueId root(ValueId value) const { return roots_[std::size_t(value)]; }
  SlotId new_slot(ValueId value, Spec spec, Axes partial = {});
  SlotId find_form(ValueId value, const Spec& spec) const;  // -1: none
  SlotId cheapest_form(ValueId value, const Spec& wanted);
  SlotId materialise(ValueId value, const Spec& wanted, const Need& need);
  SlotId reshard(SlotId from, const Spec& wanted, const Need& need);
  SlotId reduce(SlotId partial, const Spec& wanted, NodeId node);
  SlotId move(SlotId from, MoveStep step, Spec spec, Axes partial = {});
  std::vector<SlotId> compute_step(NodeId node, const Candidate& candidate);

  PartitionedProgram program_;
  ReshardPlanner reshards_;
  std::vector<ValueId> roots_;
  std::vector<bool> free_;                      // per value
  std::vector<std::vector<SlotId>> forms_;      // per root
  std::vector<Spec> slot_specs_;                // per slot, normalised
  std::vector<std::optional<OpShape>> shapes_;  // per node, made when asked for
};

}  // namespace shardlab::spmd
