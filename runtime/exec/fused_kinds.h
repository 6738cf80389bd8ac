// What a backend's fused steps may hold beside elementwise steps and reductions along rows.
#pragma once

namespace shardlab {

struct FusedKinds {
  bool draws = false;    // of random bits
  bool columns = false;  // reductions along the first dimensions, of what is made inside
  bool at_use = false;   // what is cheap is computed again where it is read (compute_at_use.h)
  bool scalars = false;  // steps that make single elements, by themselves or left for later: where a launch costs more than they do
};

}  // namespace shardlab
