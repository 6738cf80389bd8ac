// How XLA's partitioner shares a product of two tensors: a matrix product with batches, or a convolution that is not cut along its windows.
#pragma once

#include <optional>

#include "runtime/spmd/candidates.h"

namespace shardlab::spmd {

// Per factor of the rule the parts into which XLA cuts it where operands, then the result, have these shapes and lie as `forms` says;
// `atoms`: the digits of the mesh. Nothing where the op is no product, or is cut along windows or beyond the groups of a dimension.
// Without `may_sum` devices sum up no parts.
//
// Source: PartitionDot in xla/service/spmd/dot_handler.cc, without windowed products. It looks for dimensions along which two of the three
// tensors are cut into as many parts, groups the devices along these, and goes on within the groups; what then lies elsewhere is moved.
std::optional<std::vector<std::int64_t>> parts_of_product(const OpShape& op, const std::vector<Shape>& shapes,
                                                          const std::vector<Spec>& forms, const Axes& atoms, bool may_sum = true);

}  // namespace shardlab::spmd
