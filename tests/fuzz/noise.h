// What rounding may do to a program: the same graph with its sums' terms off by a few units in the last place, up or down at random.
//
// Sharded, a sum adds its terms in another order, and numbers that scale one after another may stay apart; the difference that makes is of
// the size of this noise, carried on by whatever comes after, also where terms cancel or slopes are steep. Source: stochastic arithmetic
// (CESTAC), with noise where orders differ alone.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::fuzz {

inline constexpr double kNoiseUnits = 8;
Graph with_noise(const Graph& graph, unsigned seed);
// Per result the relative size of the roundings that are decided by the order of sums in it, or by chains of numbers: of the coarsest dtype
// on the way to it, or of its own. 0: there is none. `anywhere`: sums may be anywhere, as of cotangents that several uses add up.
std::vector<double> units_of_roundings(const Graph& graph, bool anywhere);

}  // namespace shardlab::fuzz
