// Loops and branches inside a launch that went different ways on different processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "traces/checks/positions.h"

namespace shardlab {

// How an observation of what a loop or a branch goes by begins: "predicate of while_loop (step 2), run 0 of f [0badcafe]". Its value begins
// with the rounds of the loop, with "+" where it went on, or with the branch: "2+ with 1.5", "3 with 4", "branch 1".
inline constexpr std::string_view kPredicate = "predicate of ";

// So many of its last loops and branches a process remembers.
inline constexpr std::size_t kChoicesRemembered = 64;

inline bool is_choice(const StepEvidence& step) {
  return step.kind == StepEvidence::Kind::kObserved && std::string_view(step.what).starts_with(kPredicate);
}

// One for each loop or branch whose ends differ; a loop that is still under way differs from one that ended earlier.
std::vector<Diagnosis> diverged_choices(const Positions&);

// What one process has told of its loops and branches, among its other steps.
struct ToldSteps {
  int process = 0;
  const std::vector<StepEvidence>* steps = nullptr;
};

// In which launch a process met a loop or a branch: the number of its run on a device set, which is known by the lower half of its hash.
struct RunOnSet {
  std::uint32_t set = 0;
  std::int64_t run = 0;
};

// Whose words are still to come, in rising order: on the first loop or branch at which others part ways, or where none do, on any that
// others have told of. Who goes round in a loop, and no further than another that has ended it, has said nothing yet; who remembers no more
// may have forgotten it. `will_run`: whether a process takes part in a launch that certainly runs.
struct YetToChoose {
  bool others_part_ways = false;
  std::vector<int> processes;
};
YetToChoose yet_to_choose(const std::vector<ToldSteps>& told, const std::function<bool(int process, const RunOnSet&)>& will_run);

}  // namespace shardlab
