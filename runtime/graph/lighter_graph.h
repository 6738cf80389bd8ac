// A program with less arithmetic, made after shardings were chosen: which of them its values take over.
#pragma once

#include <functional>

#include "runtime/graph/graph.h"

namespace shardlab {

// How a value lies: as one of the original program, whose dimension `dims[d]` its dimension d is (-1: whole). No value: it is free.
struct LiesAs {
  ValueId value = -1;
  std::vector<int> dims;
  bool operator==(const LiesAs&) const = default;
};
// Whether two values of one shape lie alike, as each is said to lie.
using LieAlike = std::function<bool(const LiesAs&, const LiesAs&)>;

struct LighterGraph {
  Graph graph;
  std::vector<LiesAs> values;    // per value of `graph`
  std::vector<ValueId> renamed;  // per value of the original what stands for it in `graph`; -1: it is of no use any more
};

}  // namespace shardlab
