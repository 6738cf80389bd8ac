// Per-device code over some of the mesh's axes, whose other axes stay automatic: every place along the manual axes runs one program
// partitioned over the others.
#pragma once

#include "runtime/spmd/region.h"

namespace shardlab::spmd {

// The mesh that per-device code is written for: that of its specs, or the program's.
Mesh mesh_of_code(const Node& node, const Mesh& mesh);
// Per axis of the mesh whether the node's code is per device along it.
std::vector<bool> manual_axes(const Node& node, const Mesh& mesh);
bool is_partial_manual(const Node& node, const Mesh& mesh);
// An attribute of a node whose body is no per-device code, but a part of the program that is planned on the mesh of its specs.
inline constexpr const char* kPlanned = "planned";
// An attribute of a node with code over some axes: names of others by which nothing that enters or leaves the code is cut. Source: the
// replicated axes of JAX's manual computations, which are the Explicit ones.
inline constexpr const char* kWholeAtEdges = "whole_at_edges";
// How many of a node's last results are values of its devices for other code (code_part.h), which are cut by those, too.
inline constexpr const char* kHandedOver = "handed_over";
Axes axes_whole_at_edges(const Node& node, const Mesh& mesh);
// Axes of one mesh by their names as another one has them; none where that has not all of them.
Axes axes_on(const std::vector<std::string>& names, const Mesh& named, const Mesh& mesh);

// Per axis of the mesh whether a dimension's cuts from it on stay on their side of the code's edges: the code's own axes, and what is whole
// there.
std::vector<bool> ends_at_edges(const Node& node, const Mesh& mesh);
// What the code sees of how a value is cut around it: behind what its own specs say, up to where `ends` says; of a dimension that begins
// otherwise nothing.
Spec inner_part(const Spec& around, const Spec& manual_part, const std::vector<bool>& ends);
// What of a value's cuts inside leaves the code.
Spec passing(Spec spec, const std::vector<bool>& ends);
// A value around the code: cut by the manual axes first, each part by what cuts it inside.
Spec with_manual_part(const Spec& manual_part, const Spec& inside);

// The forms of operands and results, and the body partitioned over the automatic axes, as a program on the whole mesh. `manual_operands`,
// `manual_results`: in_specs and out_specs in the mesh's axes.
RegionPlan plan_partial_manual(const RegionContext& context, const Node& node, const std::vector<Spec>& manual_operands,
                               const std::vector<Spec>& manual_results);

}  // namespace shardlab::spmd
