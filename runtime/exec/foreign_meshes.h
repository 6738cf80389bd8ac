// Meshes of the computation's devices whose axes do not nest with those of its own mesh: what lies on them is exchanged on its way in and
// out.
#pragma once

#include "runtime/spmd/foreign.h"
#include "runtime/spmd/partition.h"

namespace shardlab {

// Code that every device runs by itself, along all axes of its mesh.
bool is_wholly_manual(const Node& node, const Mesh& mesh);

// A sharding's spec on the computation's mesh; nothing where the axes of the two meshes do not nest.
std::optional<Spec> spec_of(const Sharding& sharding, const Mesh& mesh, int rank);
// Whether every cut along one axis of `other` can be said in the axes of `mesh`.
bool says_all_of(const Mesh& mesh, const Mesh& other);
// The mesh of per-device code whose axes do not nest with those of `mesh`. Such code says how each device's part lies, and cannot be said
// in other axes: the computation goes over to its mesh, and what lies on `mesh` is exchanged on its way in and out. Nothing where no code
// asks for it, or where it would leave other code without its axes.
std::optional<Mesh> mesh_of_code(const Graph& graph, const Mesh& mesh);
// The mesh with the most axes of those that the shardings and the graph name, where it can say all that `mesh`, the first one, says: what
// is planned there passes dimensions on that only some of the cuts can. Source: Shardy, whose modules have one mesh (sdy-dedup-meshes).
// Where there is code over some axes of a mesh it is that one. UserError where there is such code on two.
Mesh planning_mesh(const Graph& graph, const Mesh& mesh, const std::vector<std::optional<Sharding>>& arguments,
                   const std::vector<std::optional<Sharding>>& results);
// Results that come straight from a constraint to a mesh whose axes do not nest, or from per-device code on it, are given on that mesh.
std::optional<Sharding> constrained_elsewhere(const Graph& graph, ValueId result, const Mesh& mesh);
// Constraints to such meshes, as cuts of the computation's mesh into as many parts.
Graph with_constraints_on(const Graph& graph, const Mesh& mesh);
// Arguments on such meshes lie as propagation likes, unless it leaves them in fewer parts than they come in.
void settle_foreign_params(spmd::PropagationInput& input, const spmd::ForeignLayouts& foreign);
// Results on such meshes are exchanged from cuts into as many parts, or from wherever they come to lie, and arguments come in as many parts
// or whole: whichever moves less.
spmd::PartitionedProgram planned(spmd::PropagationInput input, const spmd::ForeignLayouts& foreign, const spmd::PartitionOptions& options);

}  // namespace shardlab
