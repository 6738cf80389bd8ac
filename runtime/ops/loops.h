// Loops in expansions: repetition of terms while a condition holds, or over slices.
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

}  // namespace shardlab::ops
