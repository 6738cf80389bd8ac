// Layouts that the program's mesh has no axes for: on the same devices, but 2 x 3 beside 3 x 2. They are exchanged box by box where they
// enter and leave the program.
#pragma once

#include <optional>
#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

// Per parameter and result of the program its own sharding, on another mesh of the same devices in the same order; nothing: it lies on
// the program's mesh. Empty, or one each.
struct ForeignLayouts {
  std::vector<std::optional<Sharding>> params, results;
  bool any() const;
};

// Whether the sharding lies on such a mesh.
bool is_foreign(const Sharding& sharding, int rank, const Mesh& mesh);

// As many parts in each dimension as `foreign` has, on a mesh of as many devices.
Spec like_parts(const Spec& foreign, const Mesh& mesh);

// The program in which per-device code on other meshes gets its operands as it wants them, exchanged in front of it, and what it gives is
// exchanged behind it.
PartitionedProgram with_foreign_code(PartitionedProgram program);

// The program with the exchanges in front of and behind its steps: each device is sent what it lacks and nothing else.
PartitionedProgram with_foreign(PartitionedProgram program, const ForeignLayouts& foreign);

}  // namespace shardlab::spmd
