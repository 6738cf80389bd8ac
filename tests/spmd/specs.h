// Meshes and specs in short: "(ab)-" cuts dimension 0 by axes a and b, dimension 1 not at all.
#pragma once

#include <numeric>
#include <string_view>

#include "runtime/core/sharding.h"

namespace shardlab::testing {

// Axes are called a, b, c …
inline Mesh mesh_of(Shape shape, std::vector<int> devices = {}) {
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) names.emplace_back(1, char('a' + axis));
  if (devices.empty()) {
    devices.resize(std::size_t(element_count(shape)));
    std::iota(devices.begin(), devices.end(), 0);
  }
  return Mesh(std::move(shape), std::move(names), std::move(devices));
}

inline Spec spec_of(const Mesh& mesh, std::string_view text) {
  Spec spec;
  bool in_group = false;
  for (char c : text) {
    if (c == '(' || c == ')') {
      in_group = c == '(';
      if (in_group) spec.emplace_back();
      continue;
    }
    if (!in_group) spec.emplace_back();
    if (c != '-') spec.back().push_back(mesh.whole_axis(c - 'a'));
  }
  return spec;
}

}  // namespace shardlab::testing
