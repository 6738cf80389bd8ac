// What pictures in reports share: text that is safe inside markup.
#pragma once

#include <string>
#include <string_view>

namespace shardlab::traces {

std::string escaped(std::string_view text);  // for HTML, SVG and their attributes
// At most `most` characters, the middle left out.
std::string shortened(std::string_view text, std::size_t most = 36);

}  // namespace shardlab::traces
