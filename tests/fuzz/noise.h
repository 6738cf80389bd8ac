// What rounding may do to a program: the same graph with its sums' terms off by a few units in the last place, up or down at random.
//
// Sharded, a sum adds its terms in another order; the difference that makes is of the size of this noise, carried on by whatever comes
// after, also where terms cancel or slopes are steep. Source: stochastic arithmetic (CESTAC), with noise where orders differ alone.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::fuzz {

inline constexpr double kNoiseUnits = 8;
Graph with_noise(const Graph& graph, unsigned seed);
// Per result whether some sum of floats is in it, so that its last bits depend on the order of terms.
std::vector<bool> has_sums(const Graph& graph);

}  // namespace shardlab::fuzz
