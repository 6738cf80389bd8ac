// Nodes that transformations leave in a program, which compute nothing.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab {
struct Node;
}

namespace shardlab::ops {

// An attribute of broadcast_in_dim, which dimension of its result vmap repeats the operand along.
inline constexpr const char* kRepeatedDim = "repeated_dim";
// Of broadcast_in_dim, that it is what an op does with a smaller operand, and no op of the user's: every user has its own.
inline constexpr const char* kImplicit = "implicit";
// Whether it makes such a value, and vmap has not made it.
bool is_implicit_broadcast(const Node& node);
// Of a constant that is an array of the user's: whether that was committed to a sharding.
inline constexpr const char* kCapturedCommitted = "captured_committed";
// The first operand, which vmap repeats along "dim" and gives back. Where shardings are in types it is cut there as the second operand is
// along "like_dim"; nothing of it is left then.
extern const OpDef kCutAsBatch;
// The operand, which a call is passed a second time: a value of its own to the call's derivative.
extern const OpDef kPassedAgain;
// Its operands, from which something is computed again (runtime/graph/barrier.h).
extern const OpDef kOptimizationBarrier;

}  // namespace shardlab::ops
