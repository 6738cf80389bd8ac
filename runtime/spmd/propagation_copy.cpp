#include "runtime/spmd/propagation_copy.h"

#include <algorithm>

namespace shardlab::spmd {

Propagation as_program(const BodyPropagation& body) {
  return {.graph = body.graph, .values = body.values, .results = {}, .origins = body.origins, .bodies = body.bodies};
}

BodyPropagation as_body(Propagation program) {
  return {.graph = std::move(program.graph),
          .values = std::move(program.values),
          .origins = std::move(program.origins),
          .bodies = std::move(program.bodies)};
}

PropagationCopy::PropagationCopy(const Graph& from, const std::vector<ValueSharding>& values,
                                 const std::vector<std::vector<Origin>>& origins_from)
    : from_(from), values_from_(values), origins_from_(origins_from), values_(from.values.size(), -1), nodes_(from.nodes.size(), -1) {
  graph.name = from.name;
}

ValueId PropagationCopy::add_value(const TensorType& type, const ValueSharding& sharding) {
  graph.values.push_back({type});
  shardings.push_back(sharding);
  origins.emplace_back();
  return ValueId(graph.values.size()) - 1;
}

ValueId PropagationCopy::add_param(const TensorType& type, const ValueSharding& sharding) {
  const ValueId id = add_value(type, sharding);
  graph.values[std::size_t(id)].result_index = int(graph.params.size());
  graph.params.push_back(id);
  return id;
}

void PropagationCopy::copy_param(ValueId id) { now(id) = add_param(from_.type(id), values_from_[std::size_t(id)]); }

NodeId PropagationCopy::add_node(Node node) {
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    Value& value = graph.values[std::size_t(node.results[r])];
    value.producer = NodeId(graph.nodes.size());
    value.result_index = int(r);
  }
  graph.nodes.push_back(std::move(node));
  return NodeId(graph.nodes.size()) - 1;
}

void PropagationCopy::copy_node(NodeId n, Node node, std::size_t place, const std::vector<ValueId>& more) {
  for (ValueId& id : node.operands) id = now(id);
  node.operands.insert(node.operands.begin() + std::ptrdiff_t(place), more.begin(), more.end());
  for (ValueId& id : node.results) {
    const ValueId made = add_value(from_.type(id), values_from_[std::size_t(id)]);
    now(id) = made;
    id = made;
  }
  nodes_[std::size_t(n)] = add_node(std::move(node));
}

void PropagationCopy::name_origins() {
  for (ValueId id = 0; id < ValueId(values_.size()); ++id) {
    if (now(id) < 0 || std::size_t(id) >= origins_from_.size()) continue;
    auto& named = origins[std::size_t(now(id))];
    named = origins_from_[std::size_t(id)];
    std::erase_if(named, [&](const Origin& origin) { return origin.node >= 0 && node_now(origin.node) < 0; });
    for (Origin& origin : named) {
      if (origin.node >= 0) origin.node = node_now(origin.node);
      if (origin.from >= 0) origin.from = now(origin.from);
    }
  }
}

BodyPropagation PropagationCopy::as_body(BodyPropagations bodies) {
  name_origins();
  return {.graph = std::move(graph), .values = std::move(shardings), .origins = std::move(origins), .bodies = std::move(bodies)};
}

Propagation PropagationCopy::as_program(const Propagation& from, BodyPropagations bodies) {
  for (ValueId id : from.graph.results) graph.results.push_back(now(id));
  name_origins();
  return {.graph = std::move(graph),
          .values = std::move(shardings),
          .results = from.results,
          .origins = std::move(origins),
          .bodies = std::move(bodies)};
}

}  // namespace shardlab::spmd
