// Calls whose other participants have ended, or are past them: nobody contradicts, and nobody comes.
#pragma once

#include <vector>

#include "traces/checks/positions.h"

namespace shardlab {

struct Abandoned {
  const CallEvidence* call = nullptr;
  std::vector<int> have;               // at the call
  std::vector<int> lack;               // past it or ended without it
  std::vector<int> ended;              // of those, the ones that have left
  const StepEvidence* step = nullptr;  // what those that lack it ran on devices of their own in its place
  // The minority; of equally many those that lack it.
  bool is_extra() const { return have.size() < lack.size(); }
  const std::vector<int>& guilty() const { return is_extra() ? have : lack; }
};

std::vector<Abandoned> abandoned_calls(const Positions& positions);

// A diagnosis with its processes, participants and origin; the message is the check's own.
Diagnosis diagnosis_of(const Positions& positions, const Abandoned& call);

}  // namespace shardlab
