// Products of matrices with what follows them as one step each, for backends whose products can do that.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "runtime/exec/epilogue.h"
#include "runtime/spmd/program.h"

namespace shardlab {

struct ProductsWithEpilogues {
  std::deque<spmd::Step> made;                      // nodes of products; results are those of the last step that they do
  std::map<const spmd::Step*, Epilogue> epilogues;  // of each of these
};

// Replaces steps of the program by such products, each in the place of the last step that it does, where the values in between are read by
// nobody else. `steps`: of the program, without its constants.
//
// Of float32, bfloat16 and float16. gelu, the approximate one, in the 16-bit types alone, where it makes no difference how a library
// computes tanh.
ProductsWithEpilogues add_epilogues(const spmd::PartitionedProgram& program, std::vector<const spmd::Step*>& steps);

}  // namespace shardlab
