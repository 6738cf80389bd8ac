// How a value lies on devices, as a picture: its first two dimensions, cut, with the devices that hold each part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardlab::traces {

// `value`: "float32[8,4] P('a', None)", `mesh`: "Mesh('a': 4, 'b': 2)", `devices` in mesh order. "" where the texts say something else, or
// the picture would have too many parts.
std::string sharding_svg(std::string_view value, std::string_view mesh, const std::vector<int>& devices);

}  // namespace shardlab::traces
