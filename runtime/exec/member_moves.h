// Collectives of per-device code, as moves between the devices' own values.
//
// A device's value has the same indices as its neighbour's, so a plan gets layouts with one dimension more, which tells them apart: the
// source's place for permutes and broadcasts, the group's number otherwise.
#pragma once

#include <variant>

#include "runtime/exec/moves.h"

namespace shardlab {

// What a device has received, where that is not all of its result: the rest is zero.
struct ZeroFill {
  int position = 0;
  Box box, received;
  std::int64_t bytes = 0;  // of the whole result
  std::int64_t element_bytes = 1;
};

struct MemberMove {
  // monostate: each device keeps its own value, nothing moves.
  std::variant<std::monostate, MovePlan, ReducePlan> plan;
  std::vector<ZeroFill> paddings;            // of this process's devices
  std::optional<comm::CollectiveInfo> info;  // nothing: no collective
};

// What each position holds of the operand and of the result: all of them where the code is per device along all axes.
struct MemberParts {
  const std::vector<Box>&operand, &result;
};
// Groups of mesh positions, each in the order of ranks.
std::vector<std::vector<int>> member_groups(const Node& node, const Mesh& mesh);
// The node is a collective with one operand; `mesh` is the one whose axes it names. `groups`: all of member_groups(), or some.
MemberMove plan_member_move(const Graph& graph, const Node& node, const Mesh& mesh, const MemberParts& parts, const Ownership& ownership,
                            std::vector<std::vector<int>> groups);
// Per mesh position its rank along the axes that the node names.
std::vector<std::int32_t> member_ranks(const Node& node, const Mesh& mesh);

}  // namespace shardlab
