// Projection: one tensor's sharding as pieces per factor of an op's rule, and back.
#pragma once

#include <vector>

#include "runtime/graph/factor_rule.h"
#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// In a factor's place: axes that cut the tensor along none.
inline constexpr int kBarred = -2;

// The pieces one factor has in one tensor.
struct FactorSharding {
  int factor = -1;
  Axes axes;
  Axes overflow;            // pieces of the dimension that reach beyond this factor
  bool closed = false;      // may not be extended
  bool minor_most = false;  // the last factor of its dimension: may be cut unevenly
};
using Projection = std::vector<FactorSharding>;  // in the order of the tensor's dimensions

FactorSharding* find(Projection& projection, int factor);
const FactorSharding* find(const Projection& projection, int factor);

// `dims` has one entry a dimension of the tensor, or is empty: all open.
Projection project(const std::vector<DimSharding>& dims, const FactorRule::TensorMap& map, const std::vector<Factor>& factors);
Projection project(const Spec& spec, const FactorRule::TensorMap& map, const std::vector<Factor>& factors);

// Stops in each dimension after the first factor that is not cut in full: there are no strided layouts.
std::vector<DimSharding> unproject(const Projection& projection, const FactorRule::TensorMap& map, const std::vector<Factor>& factors);

}  // namespace shardlab::spmd
