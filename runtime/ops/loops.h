// Nodes with bodies in expansions: loops and branches of terms, and functions with a derivative of their own.
#pragma once

#include <functional>

#include "runtime/ops/compose.h"

namespace shardlab::ops {

// The last carried values. Both functions get the constants and the carried values.
Terms repeated_while(const Terms& constants, const Terms& init, const std::function<Term(const Terms&, const Terms&)>& condition,
                     const std::function<Terms(const Terms&, const Terms&)>& body);
// The last carried values, then what the body gives beyond them, stacked. It gets the carried values and slices of `along` by their
// leading dimension.
Terms repeated_over(const Terms& init, const Terms& along, const std::function<Terms(const Terms&, const Terms&)>& body);
// What one of the functions gives of the operands, by a scalar condition.
Terms either(const Term& condition, const Terms& operands, const std::function<Terms(const Terms&)>& yes,
             const std::function<Terms(const Terms&)>& no);

// A function of operands and what its tangent is, by the operands, its value and the operands' tangents (zeros where one does not vary), in
// which it must be linear. Both travel with the program: they must not hold terms.
struct DerivedFunction {
  std::function<Term(const Terms& operands)> value;
  std::function<Term(const Terms& operands, const Term& value, const Terms& tangents)> tangent;
};
// Its value, as jax.custom_jvp would give it. All operands have tangents.
Term with_derivative(const Terms& operands, const DerivedFunction& function);
// What `value` gives of the operands; where it is differentiated, `instead` stands for it, value and derivative.
Term with_another_derivative(const Terms& operands, const std::function<Term(const Terms&)>& value,
                             const std::function<Term(const Terms&)>& instead);

}  // namespace shardlab::ops
