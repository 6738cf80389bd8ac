// A user's own derivative of a function: what transformations use instead of looking into its body.
//
// Like a partition callback it is a function, so it travels with the pointer to the node's body (runtime/graph/carried.h). Its graphs are
// made when they are first asked for: a rule may call the function that it belongs to.
#pragma once

#include <functional>
#include <string>

#include "runtime/graph/graph.h"

namespace shardlab {

struct CustomDerivative {
  struct Passes {
    // The function's parameters; its results, then residuals.
    Graph forward;
    // The residuals, then a cotangent for each result that has one (floating or complex); a cotangent for each parameter that has one,
    // those captured left out.
    Graph backward;
  };
  std::string name = "f";    // of the function, for errors
  std::size_t captured = 0;  // the last so many parameters came from around the function; they must not vary
  // One of the three. jvp has the function's parameters and then a tangent for each that is not captured, and the results and then their
  // tangents; those of integers and bool are there and mean nothing.
  std::function<Graph()> jvp = {};
  std::function<Passes()> vjp = {};
  // Of the function's parameters and results: what is differentiated, and computed, in its place.
  std::function<Graph()> instead = {};
};

// The body with this derivative attached.
GraphRef with_derivative(Graph body, CustomDerivative derivative);
// The derivative of a body, or nullptr (of one that was parsed from text, too): it is differentiated like any other graph.
const CustomDerivative* derivative_of(const GraphRef& body);

}  // namespace shardlab
