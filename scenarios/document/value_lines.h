// Where the values of a JSON text stand.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace shardlab::scenarios {

// The line, from 1, at which each object and each member of an object begins, by JSON pointer. Elements of lists that are no objects are
// left out. `text` is JSON that has been read already; none of a text of one line, where lines say nothing, and not more than
// kLinesMax.
constexpr std::size_t kLinesMax = 100'000;

std::map<std::string, int> value_lines(std::string_view text);

// Of the value at `pointer`, else of the innermost one around it that has a line; 0 where there is none.
int line_of(const std::map<std::string, int>& lines, std::string_view pointer);

}  // namespace shardlab::scenarios
