// Reshard planning: from one spec to another by the fewest wire bytes.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

struct ReshardStep {
  std::string kind;  // as MoveStep
  Axes axes;         // of groups
  Spec to;
  std::vector<Transfer> transfers;  // permutes only
  int calls = 1;
};

struct ReshardPlan {
  std::int64_t elements = 0;  // received over all devices
  int collectives = 0;
  std::vector<ReshardStep> steps;
};

// Plans are found once for each (shape, from, to) and kept. Specs are normalised and even. Not thread-safe.
//
// The direct exchange always moves exactly the lower bound (what devices lack), so a standard sequence is taken only where it meets
// the bound too: the search follows moves that waste nothing, and ends soon. Among equals the fewest collectives win.
class ReshardPlanner {
 public:
  explicit ReshardPlanner(Mesh mesh) : mesh_(std::move(mesh)) {}

  // Elements that any plan must move; what the plan will move.
  std::int64_t elements(const Shape& shape, const Spec& from, const Spec& to);
  const ReshardPlan& plan(const Shape& shape, const Spec& from, const Spec& to);

 private:
  using Key = std::tuple<Shape, Spec, Spec>;
  Mesh mesh_;
  std::map<Key, std::int64_t> elements_;
  std::map<Key, ReshardPlan> plans_;
};

}  // namespace shardlab::spmd
