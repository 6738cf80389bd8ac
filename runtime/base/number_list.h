// Lists of numbers as text: whole where they are short, by their runs where they are long.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace shardlab {

// "[0,1,5]"; longer lists by runs: "[0..65535]", "[0..65280 by 256,7]". Equal texts mean equal lists.
std::string list_text(std::span<const int> numbers);
// "[[0,1],[2,3]]"; many by runs of lists that are the one before and a constant: "[[0..255] and 255 more, each 256 further]".
std::string lists_text(const std::vector<std::vector<int>>& lists);
// For messages: "0", "0 and 2", "0, 2 and 5", "0-20 and 22-63".
std::string ranges_text(std::span<const int> ascending);

}  // namespace shardlab
