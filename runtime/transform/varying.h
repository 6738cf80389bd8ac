// Which mesh axes the values of per-device code may vary over. Source: the varying manual axes of JAX's shard_map.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::transform {

// A set of mesh axes, one bit each.
using VaryingAxes = std::uint64_t;
VaryingAxes axes_in(const std::vector<std::string>& names, const Mesh& mesh);  // without names that are no axes of it
VaryingAxes axes_in(const Sharding& sharding, int rank);
// Of a body's parameters: the axes that in_specs name.
std::vector<VaryingAxes> varying_params(const Graph& body, const std::vector<Sharding>& in_specs);

// Reductions over axes remove them, axis_index and pvary add theirs, other ops give the union of their operands'.
class Varying {
 public:
  Varying(const Graph& graph, const std::vector<VaryingAxes>& params, const Mesh& mesh);
  VaryingAxes at(ValueId id) const { return varying_[std::size_t(id)]; }
  std::vector<VaryingAxes> results() const;
  // What the parameters of a loop's or branch's bodies vary over, in all iterations.
  std::vector<VaryingAxes> params_of_bodies(const Node& node) const;

 private:
  std::vector<VaryingAxes> of_node(const Node& node) const;
  std::vector<VaryingAxes> of_region(const Node& node) const;

  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<VaryingAxes> varying_;
};

// A derivative's per-device code with products in place of sums over axes along which all devices have the same: nothing moves for them.
Graph without_sums_of_equals(const Graph& body, const std::vector<VaryingAxes>& params, const Mesh& mesh);

}  // namespace shardlab::transform
