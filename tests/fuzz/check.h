// One random program run by the executor on virtual devices, sharded and on one device: values, gradients, tangents, batches.
#pragma once

#include <string>

namespace shardlab::fuzz {

struct Outcome {
  std::string failure;  // empty: no difference. Else the seed, the mesh, the programs as text, and where they differ
  std::string mode;     // values, gradients, …
  int nodes = 0;        // of the sharded program
};

// Deterministic for a seed. Of a program that fails the shortest beginning that fails is told.
Outcome check_program(unsigned seed);

}  // namespace shardlab::fuzz
