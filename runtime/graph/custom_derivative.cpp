#include "runtime/graph/custom_derivative.h"

namespace shardlab {
namespace {

struct Deleter {
  CustomDerivative derivative;
  void operator()(const Graph* graph) const { delete graph; }
};

}  // namespace

GraphRef with_derivative(Graph body, CustomDerivative derivative) { return {new Graph(std::move(body)), Deleter{std::move(derivative)}}; }

const CustomDerivative* derivative_of(const GraphRef& body) {
  const auto* deleter = std::get_deleter<Deleter>(body);
  return deleter != nullptr ? &deleter->derivative : nullptr;
}

}  // namespace shardlab
