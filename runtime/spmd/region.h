// Partition of nodes with bodies: the forms they take and give, and their bodies as programs of their own.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/spmd/partition.h"

namespace shardlab::spmd {

// How values are left whose propagated sharding does not divide them.
enum class Rounding : std::uint8_t {
  kEven,          // by the even part of it
  kAsPropagated,  // in parts of unequal size
};

// How loops get what they do not change.
enum class LoopConstants : std::uint8_t {
  kWhereNeeded,  // as propagation leaves it; moved before the loop one by one, where each saves moving something in it
  kGathered,     // all of it whole, where together that saves more than it costs
};

struct RegionPlan {
  std::vector<Spec> operands, results;  // the forms that the node takes and gives
  std::vector<std::shared_ptr<const PartitionedProgram>> bodies;
};

// What is known where the planner comes to the node: how its values were left by propagation, normalised and rounded.
struct RegionContext {
  const Graph& graph;
  const Mesh& mesh;
  std::vector<Spec> operands = {}, results = {};
  Rounding rounding = Rounding::kEven;
  LoopConstants loop_constants = LoopConstants::kWhereNeeded;
  SharedBodies bodies = nullptr;     // of loops and branches, as propagation left them
  PartitionOptions for_bodies = {};  // those are planned by
};

RegionPlan plan_region(const RegionContext& context, const Node& node);

// Makes the program of one device's code that of every device of a mesh.
void set_mesh(PartitionedProgram& program, const Mesh& mesh);

// Of a manual region, in_specs and out_specs on the program's mesh.
struct ManualSpecs {
  std::vector<Spec> operands, results;
};
ManualSpecs manual_specs(const Node& node, const Graph& graph, const Mesh& mesh);

// The specs that the node itself demands of its results (regions that are manual over all axes), on the program's mesh.
std::optional<std::vector<Spec>> demanded_results(const Node& node, const Graph& graph, const Mesh& mesh);

}  // namespace shardlab::spmd
