// Where processes issue different calls to each other: the sides, how one's calls turn into the other's, and whom to blame.
#pragma once

#include <vector>

#include "traces/checks/alignment.h"

namespace shardlab {

// The processes that stand at one call.
struct Side {
  CallKey key;
  std::vector<int> processes;
  const CallEvidence* call = nullptr;  // as its first process issued it
  Alignment alignment;                 // against the reference side; of the reference, against the one that accuses it
  std::vector<int> guilty;             // those of `processes` that are to blame
};

// One independent disagreement. The reference is the majority, or on a tie the side of the lowest process.
struct Disagreement {
  std::vector<Side> sides;  // by lowest process
  std::size_t reference = 0;
  bool tie = false;
  std::vector<int> guilty() const;
  std::vector<int> innocent() const;
};

std::vector<Disagreement> disagreements(const Positions&);

// Those in which `relation` is what the guilty did: on a tie the first that fits by precedence, else per guilty side. Sides that are
// guilty of something else are taken as innocent here.
std::vector<Disagreement> disagreements_of(const Positions&, std::vector<Relation> relations);

}  // namespace shardlab
