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

// As many parts in each dimension as `foreign` has, on a mesh of as many devices.
Spec like_parts(const Spec& foreign, const Mesh& mesh);

// The program with the exchanges in front of and behind its steps: each device is sent what it lacks and nothing else.
PartitionedProgram with_foreign(PartitionedProgram program, const ForeignLayouts& foreign);

}  // namespace shardlab::spmd
