// Other plans worth a search: operands moved in place of results.
#pragma once

#include <optional>
#include <vector>

#include "runtime/spmd/held_forms.h"
#include "runtime/spmd/options.h"

namespace shardlab::spmd {

// What a search has found.
struct PlanTaken {
  const std::vector<NodeId>& order;
  std::vector<int> options;  // per node the one taken, -1: none
  Foresight needs;
};

// What a plan would need in which results that are moved are computed as they are needed, of operands that are moved instead: a product's
// gradient and the product of another one may both have use of one gathered operand, where each alone is as cheap without. Empty where no
// operand that would be moved has another use. `in_turn`: what is moved so may be a result that is moved before as well; else each op is
// looked at by itself. `options`: per node, `keeper`: of the plan's search.
Foresight needs_if_moved_before(const Problem& problem, CostTable& costs, const std::vector<std::optional<Options>>& options,
                                const FormKeeper& keeper, const PlanTaken& plan, bool in_turn);

}  // namespace shardlab::spmd
