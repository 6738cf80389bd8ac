// Some of a list.
#pragma once

#include <cstddef>
#include <vector>

namespace shardlab {

// The items whose place in the mask is true, in order.
template <typename T>
std::vector<T> selected(const std::vector<T>& items, const std::vector<bool>& mask) {
  std::vector<T> found;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (mask[i]) found.push_back(items[i]);
  return found;
}

}  // namespace shardlab
