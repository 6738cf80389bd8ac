// Which numbers of a program are known before it runs.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab {

// Per value: whether it is a single number (of no rank) that elementwise ops make of constants alone. Compiled programs compute these once.
std::vector<bool> known_numbers(const Graph& graph);

}  // namespace shardlab
