// How what one process did differs from what another did: permuted, replaced, left out or put in.
#pragma once

#include <string_view>
#include <vector>

#include "traces/checks/positions.h"

namespace shardlab {

// How one sequence of calls differs from a reference, in order of precedence.
enum class Relation {
  kOrder,    // a permutation
  kProgram,  // another call in the place of one
  kSkipped,  // lacks calls of the reference
  kExtra,    // makes calls that the reference does not
};

struct Alignment {
  Relation relation = Relation::kProgram;
  int length = 1;                      // calls permuted, lacking or in excess
  const StepEvidence* step = nullptr;  // what `tail` did on devices of its own in the place of the reference's first call
};

// One thing that a process did since the last call that is matched: a call, or a step between calls.
struct TrackItem {
  CallKey key;
  std::string_view op, where;
  const StepEvidence* step = nullptr;  // nothing: a call
  std::string_view text = {};          // a call's program, whether it is waited in or not
  bool made_before = false;            // the first call: like one that is matched, which both have made
};

struct Track {
  std::vector<TrackItem> items;
  // The process goes on after the last item, but was not seen to; a track to the end of the program, or to a read that both have come
  // to, is complete.
  bool cut = true;
};

// What process `p` did, as far as it concerns `q` too.
Track track(const Positions& positions, int p, int q);

// Aligns two tracks whose first calls differ. The best of all alignments counts, scored by what they explain: equal calls, calls of one
// line (which differ because of something earlier), insertions as one block each (Gotoh 1982), and a permutation of the first calls.
Alignment align(const Track& tail, const Track& reference);

}  // namespace shardlab
