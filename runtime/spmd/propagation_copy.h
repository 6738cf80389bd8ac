// A graph that is written anew, with what propagation knows of its values.
#pragma once

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// A body as a program of its own, of whose results nobody says how they leave it, and back.
Propagation as_program(const BodyPropagation& body);
BodyPropagation as_body(Propagation program);

// Values and nodes of the graph that it is copied from have names in it, once they are copied; origins speak of those.
class PropagationCopy {
 public:
  // Refers to the graph and the values; of `origins` there may be none.
  PropagationCopy(const Graph& from, const std::vector<ValueSharding>& values, const std::vector<std::vector<Origin>>& origins);

  Graph graph;
  std::vector<ValueSharding> shardings;
  std::vector<std::vector<Origin>> origins;

  // -1: not copied yet.
  ValueId& now(ValueId id) { return values_[std::size_t(id)]; }
  NodeId node_now(NodeId id) const { return nodes_[std::size_t(id)]; }

  ValueId add_value(const TensorType& type, const ValueSharding& sharding);
  ValueId add_param(const TensorType& type, const ValueSharding& sharding);
  // A parameter of the original.
  void copy_param(ValueId id);
  NodeId add_node(Node node);
  // A node of the original, perhaps changed. `more`: further operands, by their names here, that stand before the one at `place`.
  void copy_node(NodeId n, Node node, std::size_t place = 0, const std::vector<ValueId>& more = {});
  // Once all is copied.
  void name_origins();
  // The same, and what was copied as a body that has these within.
  BodyPropagation as_body(BodyPropagations bodies);
  // The same as the program that it is copied from, with that one's results.
  Propagation as_program(const Propagation& from, BodyPropagations bodies);

 private:
  const Graph& from_;
  const std::vector<ValueSharding>& values_from_;
  const std::vector<std::vector<Origin>>& origins_from_;
  std::vector<ValueId> values_;
  std::vector<NodeId> nodes_;
};

}  // namespace shardlab::spmd
