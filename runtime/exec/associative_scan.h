// associative_scan: running combinations by an associative function of one's own, in logarithmic depth.
#pragma once

#include "runtime/exec/autodiff.h"

namespace shardlab {

struct AssociativeScanOptions {
  bool reverse = false;
  int axis = 0;
};

// A function of two lists of arrays, as long as the elements.
using CombineFunction = std::function<std::vector<Array>(const std::vector<Array>&, const std::vector<Array>&)>;
// UserError with JAX's text where the elements' sizes along the axis differ.
std::vector<Array> associative_scan(const CombineFunction& combine, const std::vector<Array>& elements,
                                    const AssociativeScanOptions& options, Where where);

// associative_scan(f, x): element i along the axis is x[0] f x[1] f … f x[i]; x may be a tree of arrays, f takes two and returns one like
// them, for slices of any length at once. The order of combining is JAX's.
template <typename F, typename T>
T associative_scan(const F& function, const T& elements, AssociativeScanOptions options = {},
                   std::source_location where = std::source_location::current()) {
  CombineFunction combine = [&](const std::vector<Array>& a, const std::vector<Array>& b) {
    return tree::leaves(function(tree::unflatten(elements, a), tree::unflatten(elements, b)));
  };
  return tree::unflatten(elements, associative_scan(combine, tree::leaves(elements), options, Where::from(where)));
}

}  // namespace shardlab
