// Which of several equal calls in a row is the one that a process left out, by the lines that they were issued at.
#pragma once

#include "traces/checks/positions.h"

namespace shardlab {

// Nothing where the calls are what they seem: the one at which `has` stands is missing, and `lacks` goes on where it stands.
struct MissingPlace {
  const CallEvidence* missing = nullptr;  // as `has` issued it
  const CallEvidence* next = nullptr;     // what `lacks` issued instead
};

// `has` stands at a block of `length` calls that `lacks` left out. Calls match by what they do, so where those before it do the same, the
// block may be any of these: it is taken to be where the lines of both agree best, and of such places the last.
MissingPlace missing_place(const Positions& positions, int has, int lacks, int length);

}  // namespace shardlab
