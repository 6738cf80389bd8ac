// Functions that JAX does not jit.
#pragma once

#include <string_view>

namespace shardlab {

// Whether JAX runs a function of its library op by op where nobody jits what calls it. Source: unjitted.inc, which make_unjitted.py
// makes from JAX 0.10.
bool is_unjitted(std::string_view op);

}  // namespace shardlab
