// Writes the steps of a partitioned program, and knows in which forms each value is at hand.
#pragma once

#include <vector>

#include "runtime/spmd/problem.h"
#include "runtime/spmd/reduce.h"

namespace shardlab::spmd {

struct MoveCost {
  std::int64_t bytes = 0;
  int collectives = 0;
  int moves = 0;  // free slices too
  MoveCost& operator+=(const MoveCost& other);
};

// The form an op needs of an operand: by spec, or windows by position.
struct WantedForm {
  Spec spec;
  std::vector<Box> windows;  // non-empty: these instead of the spec
  bool operator==(const WantedForm&) const = default;
};
WantedForm wanted_form(const Candidate& candidate, std::size_t operand);

// Who needs a form, for the step's record.
struct Need {
  NodeId node = -1;
  std::string cause;
  int operand = -1;
};

// Grows a program step by step. A value's forms are its slots that are no partial results; a form made for one user serves the later
// ones. The result of a constraint shares its operand's forms.
class Emitter {
 public:
  explicit Emitter(Problem& problem);

  Problem& problem() { return problem_; }
  const Graph& graph() const { return problem_.graph(); }
  const Mesh& mesh() const { return problem_.mesh(); }
  ReshardPlanner& reshards() { return problem_.reshards(); }
  bool is_free(ValueId value) const { return problem_.is_free(value); }
  const TensorType& type(ValueId value) const { return problem_.type(value); }

  // Of the cheapest form at hand: bytes alone, and in full.
  std::int64_t bytes_to(ValueId value, const WantedForm& wanted);
  MoveCost cost_to(ValueId value, const WantedForm& wanted);
  // The spec of the form that would be taken.
  Spec form_for(ValueId value, const Spec& wanted);
  std::vector<Spec> forms(ValueId value) const;

  void add_param(ValueId value, const Spec& spec);
  // Brings the operand of a constraint into the form that it fixes.
  void constrain(NodeId node);
  // The slot of a form of the value, made where it is not at hand. `wanted` is normalised and even.
  SlotId obtain(ValueId value, const Spec& wanted, const Need& need);
  // A slot that holds at least the windows at each position: a form that covers them, or one made for them.
  SlotId obtain_windows(ValueId value, const std::vector<Box>& windows, const Need& need);
  // Computes a node as the candidate says and brings its results into the wanted forms.
  void compute(NodeId node, const Candidate& candidate, const std::vector<Spec>& wanted);
  // A result of the function: the form in exactly these terms.
  void add_result(ValueId value, const Spec& spec, bool may_be_finer);

  // Without the graph, which the problem has.
  PartitionedProgram finish() { return std::move(program_); }

 private:
  std::vector<SlotId>& slots_of(ValueId value) { return forms_[std::size_t(problem_.root(value))]; }
  const std::vector<SlotId>& slots_of(ValueId value) const { return forms_[std::size_t(problem_.root(value))]; }
  SlotId new_slot(ValueId value, Spec spec, Axes partial = {}, std::vector<Box> windows = {});
  SlotId find_form(ValueId value, const Spec& spec) const;  // -1: none
  SlotId cheapest_form(ValueId value, const Spec& wanted);
  // The form that lacks the least of the windows, and how many elements.
  std::pair<SlotId, std::int64_t> nearest_form(ValueId value, const std::vector<Box>& windows) const;
  SlotId compose(ValueId value, const std::vector<Box>& windows, const Need& need);
  SlotId materialise(ValueId value, const Spec& wanted, const Need& need);
  SlotId reshard(SlotId from, const Spec& wanted, const Need& need);
  SlotId reduce(SlotId partial, const Spec& wanted, NodeId node);
  SlotId move(SlotId from, MoveStep step, Spec spec, Axes partial = {}, std::vector<Box> windows = {});
  std::vector<SlotId> compute_step(NodeId node, const Candidate& candidate);

  Problem& problem_;
  PartitionedProgram program_;
  std::vector<std::vector<SlotId>> forms_;         // per root
  std::vector<std::vector<SlotId>> window_slots_;  // per root
  std::vector<Spec> slot_specs_;                   // per slot, normalised
};

}  // namespace shardlab::spmd
