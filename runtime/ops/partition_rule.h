// The sharding rule of a custom_partitioning as its user writes it, "i j k -> i j k", and what it means for given types.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/attrs.h"
#include "runtime/graph/factor_rule.h"

namespace shardlab::ops {

// The attributes "sharding_rule" (the text), "reduction_factors", "need_replication_factors", "permutation_factors" (names), and
// "factor_names" with "factor_sizes" (of factors that are never a whole dimension). UserError with JAX's texts.
//
// Operands and results are separated by commas, their dimensions by spaces. A dimension is a factor, or several in brackets, major
// first; "..." at the beginning (or "...N", to tell groups apart) stands for any number of leading dimensions. Every factor passes
// through unless a list names it. A factor on dimensions of different sizes has the least of them.
FactorRule partition_rule(const Attrs& attrs, const std::vector<TensorType>& operands, const std::vector<TensorType>& results);

// The factors that operands have, no result has, and no list names: their parts are combined by nobody.
std::vector<std::string> dropped_factors(const Attrs& attrs);

}  // namespace shardlab::ops
