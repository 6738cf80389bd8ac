// One visit of an op: which factor shardings its tensors take from each other.
#pragma once

#include "runtime/spmd/project.h"

namespace shardlab::spmd {

// Along one factor, and which way its sharding may travel.
enum class Direction : std::uint8_t { kNone, kForward, kBackward, kBoth };  // forward: from operands to results
constexpr Direction operator|(Direction a, Direction b) { return Direction(std::uint8_t(a) | std::uint8_t(b)); }

struct Visit {
  const FactorRule& rule;
  std::vector<Projection>& operands;
  std::vector<Projection>& results;
  std::vector<Direction> directions;  // one a factor
  bool elementwise = false;
};

// A tensor's factor took pieces; tensors count operands first, then results.
struct Change {
  int tensor = 0, factor = 0;
  int source = 0;  // the tensor whose sharding decided
};

// Extends the projections in place. Disagreement gives the common prefix; two factors that want one axis in one tensor are served in
// the order of their sources' sizes; closed dimensions stay. Source: Shardy's aggressive factor propagation.
std::vector<Change> extend_factors(Visit visit);

}  // namespace shardlab::spmd
