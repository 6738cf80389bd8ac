// Loops and branches inside a launch that went different ways on different processes.
#pragma once

#include <string_view>
#include <vector>

#include "traces/checks/positions.h"

namespace shardlab {

// How an observation of what a loop or a branch goes by begins: "predicate of while_loop (step 2), run 0 of f [0badcafe]". Its value begins
// with the rounds of the loop, with "+" where it went on, or with the branch: "2+ with 1.5", "3 with 4", "branch 1".
inline constexpr std::string_view kPredicate = "predicate of ";

inline bool is_choice(const StepEvidence& step) {
  return step.kind == StepEvidence::Kind::kObserved && std::string_view(step.what).starts_with(kPredicate);
}

// One for each loop or branch whose ends differ; a loop that is still under way differs from one that ended earlier.
std::vector<Diagnosis> diverged_choices(const Positions&);

}  // namespace shardlab
