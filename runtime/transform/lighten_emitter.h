// The lighter program under construction: its values with how they lie, and equal nodes found again.
#pragma once

#include <functional>
#include <map>

#include "runtime/graph/builder.h"
#include "runtime/graph/lighter_graph.h"
#include "runtime/transform/turned_values.h"

namespace shardlab::transform {

// Every value has a number; equal values have the same one, also where they stay apart because they lie otherwise or are constants.
class LightEmitter {
 public:
  LightEmitter(const Graph& original, const LieAlike& lie_alike);

  GraphBuilder& builder() { return b_; }
  const Graph& graph() const { return b_.graph(); }
  const TensorType& type(ValueId id) const { return graph().type(id); }
  const TensorType& type_of_original(ValueId id) const { return original_.type(id); }
  bool is_used(ValueId original) const { return uses_[std::size_t(original)] > 0; }
  bool is_used_once(ValueId original) const { return uses_[std::size_t(original)] == 1; }
  const Node* producer(ValueId id) const;  // nullptr of a parameter
  // What the value is another name of, see as(); also a constraint of what lies so already.
  ValueId named_by(ValueId id) const;
  // Of the value or what it is another name of; nullptr where another op made it.
  const Node* producer(ValueId id, const OpDef& op) const;
  bool are_equal(ValueId a, ValueId b) const { return numbers_[std::size_t(a)] == numbers_[std::size_t(b)]; }
  // The number that every element is, of a constant.
  std::optional<double> filling(ValueId id) const;
  bool is_filled_with(ValueId id, double number) const { return filling(id) == number; }
  bool follows_from_constants(ValueId id) const { return is_constant_[std::size_t(id)]; }
  bool has_merged() const { return has_merged_; }

  ValueId add_param(ValueId original);
  // A node of the original on the operands that stand for its own.
  std::vector<ValueId> emit_copy(const Node& node, const std::vector<ValueId>& operands);
  ValueId emit(const OpDef& op, const std::vector<ValueId>& operands, const Attrs& attrs, const LiesAs& lies);
  // The same of an op with several results.
  std::vector<ValueId> emit_all(const OpDef& op, const std::vector<ValueId>& operands, const Attrs& attrs, const std::vector<LiesAs>& lies);
  // The value, by another name where it lies otherwise than what it stands for.
  ValueId as(ValueId value, const LiesAs& lies);
  ValueId as(ValueId value, ValueId original) { return as(value, like(original)); }
  // A number in every element.
  ValueId filled(TensorType type, double number);
  // Some dimensions of what lies so.
  static LiesAs part_of(const LiesAs& whole, const std::vector<int>& dims);
  // Along dimensions of an original value.
  static LiesAs like(ValueId original, std::vector<int> dims) { return {original, std::move(dims)}; }
  LiesAs like(ValueId original) const;
  // Whether what lies so is whole along these dimensions.
  bool is_whole_along(const LiesAs& lies, const std::vector<int>& dims) const;
  bool is_whole(const LiesAs& lies) const;
  bool lie_alike(const LiesAs& a, const LiesAs& b) const { return a.value >= 0 && b.value >= 0 && lie_alike_(a, b); }
  // How a value of the lighter program lies. By value: emitting moves what is noted.
  LiesAs lies_as(ValueId id) const { return lies_[std::size_t(id)]; }

  LighterGraph finish(const std::vector<ValueId>& renamed);

 private:
  std::optional<double> computed_filling(ValueId id) const;
  using Key = std::pair<const OpDef*, std::vector<int>>;
  // The node's earlier equal, whether or not both can be one.
  const std::vector<ValueId>* equal_of(const Key& key, const Attrs& attrs) const;
  void note(const std::vector<ValueId>& results, const std::vector<LiesAs>& lies, bool is_free, bool is_constant);
  bool are_one(ValueId existing, const LiesAs& lies) const;
  // An earlier value that is the same transposed, transposed again, where that lies as the node's result.
  std::optional<ValueId> turned_back(const TurnedValues::Computed& computed, const LiesAs& lies);

  const LieAlike& lie_alike_;
  const Graph& original_;
  std::vector<int> uses_;  // per original value, by nodes and as results
  GraphBuilder b_;
  std::vector<LiesAs> lies_;       // per value
  std::vector<int> numbers_;       // per value
  std::vector<bool> is_free_;      // per value: a constant expression or one scalar everywhere, computed in whatever form is asked for
  std::vector<bool> is_constant_;  // per value
  std::multimap<Key, std::vector<ValueId>> seen_;
  std::optional<TurnedValues> turned_;  // where anything is transposed
  bool has_merged_ = false;
};

}  // namespace shardlab::transform
