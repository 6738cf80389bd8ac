// What the axes of vmap mean for arguments and results of known types.
#pragma once

#include "runtime/exec/transformed.h"

namespace shardlab {

struct MappedArguments {
  std::vector<int> dims;             // per leaf; kNotBatched where it is the same for all elements
  std::int64_t size = 0;             // of the batch
  std::vector<TensorType> elements;  // the types that the function sees
};
// UserError with JAX's texts where axes are too many or out of bounds, or sizes differ.
MappedArguments mapped_arguments(const std::vector<TensorType>& args, const BatchOptions& options);

// Per leaf of the results, of these types for one element, the dimension that the batch becomes. `parts`: how many leaves each part of the
// result has (empty: one each).
std::vector<int> mapped_results(const std::vector<TensorType>& results, const LeafCounts& parts, const KeyPaths& paths,
                                const BatchOptions& options);

}  // namespace shardlab
