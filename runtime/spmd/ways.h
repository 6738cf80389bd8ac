// The ways to compute one node that a planner compares.
#pragma once

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

// Every way that is worth a look, never none. `at_hand` has a form of each operand.
std::vector<Candidate> ways_to_compute(Problem& problem, NodeId node, const std::vector<Spec>& at_hand);

// The arithmetic of one device that a node may cost: as much as where propagation leaves its tensors, so that bytes are never bought by
// repeated work. The least work that some way needs where that is more; nothing for ops that only move data.
//
// `as_results_lie`: an elementwise op as its results lie, though all its operands are cut. So XLA computes it where its operands are
// gathered for other ops anyway; else it gathers what comes out.
std::optional<std::int64_t> allowed_work(Problem& problem, NodeId node, const std::vector<Candidate>& ways, bool as_results_lie);

// The same of all nodes of a program together; nothing where loops or branches are among them, of which nobody says it.
std::optional<std::int64_t> allowed_work(Problem& problem);

}  // namespace shardlab::spmd
