// How two programs differ, by their texts: nodes, attributes, types and shardings, down to the first and beyond.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardlab {

struct ProgramDifference {
  std::string place;  // "%2 = dot_general", "parameter 0", "mesh"
  std::string what;   // "op", "attribute contract", "operands", "type", "sharding", "devices", "node" (one side alone has it)
  std::string a, b;   // "": that side has none
};

// In the order of the texts, at most `most`. Steps of the partitioned program are compared where the captured ones are equal: they follow
// from those, from the mesh and from the shardings of the parameters.
std::vector<ProgramDifference> program_differences(std::string_view a, std::string_view b, std::size_t most = 8);

// "attribute contract of %2 = dot_general is [1, 0] on A and [0, 1] on B".
std::string text_of(const ProgramDifference&, std::string_view on_a, std::string_view on_b);

}  // namespace shardlab
