// What rounding may do to a program: the same graph with its sums' terms off by a few units in the last place, up or down at random.
//
// Sharded, a sum adds its terms in another order; the difference that makes is of the size of this noise, carried on by whatever comes
// after, also where terms cancel or slopes are steep. Source: stochastic arithmetic (CESTAC), with noise where orders differ alone.
#pragma once

#include "runtime/graph/graph.h"

namespace shardlab::fuzz {

inline constexpr double kNoiseUnits = 8;
Graph with_noise(const Graph& graph, unsigned seed);
// Per result the relative size of the roundings that the order of sums in it decides: of the coarsest dtype that is summed on the way to
// it, or of its own. 0: no sum of floats is in it. `anywhere`: sums may be anywhere, as of cotangents that several uses add up.
std::vector<double> units_of_sums(const Graph& graph, bool anywhere);

}  // namespace shardlab::fuzz
