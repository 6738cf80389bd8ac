#include "runtime/graph/custom_derivative.h"

#include "runtime/graph/carried.h"

namespace shardlab {

GraphRef with_derivative(Graph body, CustomDerivative derivative) { return carrying(std::move(body), std::move(derivative)); }

const CustomDerivative* derivative_of(const GraphRef& body) { return carried_by<CustomDerivative>(body); }

}  // namespace shardlab
