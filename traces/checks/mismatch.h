// What the diagnoses of disagreeing calls share.
#pragma once

#include <vector>

#include "traces/checks/disagreement.h"
#include "traces/checks/evidence.h"

namespace shardlab {

// A diagnosis with its processes, tie, participants, `fields` and details; the message is the check's own.
Diagnosis diagnosis_of(const Positions&, const Disagreement&);

// The first side with a guilty process and the first to compare it with.
struct TwoSides {
  const Side* guilty = nullptr;
  const Side* other = nullptr;
  std::vector<int> others;  // the processes of `other` that are not guilty; all of them on a tie
};
TwoSides two_sides(const Disagreement&);

}  // namespace shardlab
