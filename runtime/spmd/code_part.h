// Per-device code of which another node does a part: values of its devices leave one node's code and enter another's.
#pragma once

#include <optional>
#include <vector>

#include "runtime/spmd/propagation_copy.h"

namespace shardlab::spmd {

// Whether a node, or one in its bodies, exchanges something between devices.
bool communicates(const Node& node);

// What of some code a node is to do.
struct CodePart {
  struct Taken {
    ValueId inside, around;  // of the code; what another node gives in its place
  };
  std::vector<bool> needed;          // per value of the code
  std::vector<Taken> taken = {};     // of those
  std::vector<bool> results;         // per result of the code whether this node gives it
  std::vector<ValueId> handed = {};  // values of the code that it gives besides, device by device
  bool has_effects = true;           // the code's
};

// A node with per-device code, as it stands in a program or a body.
class Code {
 public:
  // Refers to all of them.
  Code(const Graph& around, const std::vector<ValueSharding>& values_around, const BodyPropagations& bodies, NodeId node, const Mesh& mesh);

  const Node& node() const { return *node_; }
  const Graph& graph() const { return *graph_; }
  const ValueSharding& sharding(ValueId inside) const { return values_[std::size_t(inside)]; }
  // The mesh that it is written for.
  const Mesh& mesh() const { return own_; }
  // Whether it is partitioned over some axes: any of its ops may have to move what it takes.
  bool is_partial() const { return propagated_ != nullptr; }
  // Whether values of its devices have names around it.
  bool can_hand_over() const;
  // Whether a node computes with scalars alone.
  bool is_scalar_step(const Node& node) const;
  // Whether what it gives follows from the device's place alone: a scalar that costs nothing where it is used.
  bool is_of_place(const Node& node) const;

  // The values that some follow from, back to `given` ones.
  std::vector<bool> needed_for(std::vector<bool> wanted, const std::vector<bool>& given) const;
  // What effects need.
  std::vector<bool> needed_by_effects() const;

  // A node that does a part of it, in a copy of what it stands in; gives the names of what it hands over. Nothing is added that would give
  // nothing.
  std::vector<ValueId> add(PropagationCopy& copy, BodyPropagations& bodies, const CodePart& part) const;

 private:
  std::vector<bool> same_everywhere() const;
  // A scalar that devices have each their own gets a dimension to lie along.
  bool is_boxed(ValueId inside) const { return graph_->type(inside).rank() == 0 && !is_same_everywhere_[std::size_t(inside)]; }
  bool is_cut(ValueId inside) const { return graph_->type(inside).rank() > 0 || is_boxed(inside); }
  TensorType type_at_edge(ValueId inside) const;
  ValueSharding form_at_edge(ValueId inside) const;
  Sharding spec_around(ValueId inside) const;
  TensorType type_around(ValueId inside) const;
  ValueSharding form_around(ValueId inside) const;
  // In a copy of the code a value in another shape.
  ValueId reshaped(PropagationCopy& copy, ValueId id, const TensorType& type, const ValueSharding& form) const;

  const Graph& around_;
  const std::vector<ValueSharding>& values_around_;
  const Node* node_;
  Mesh own_;
  Spec own_axes_;                                // those that it is per device along, in its mesh's terms
  std::optional<Spec> axes_;                     // and in the program's
  const BodyPropagation* propagated_ = nullptr;  // of code over some axes
  const Graph* graph_ = nullptr;
  std::vector<ValueSharding> values_;
  std::vector<bool> is_same_everywhere_, is_of_place_;  // per value
};

}  // namespace shardlab::spmd
