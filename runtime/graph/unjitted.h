// Which functions of its library JAX jits.
#pragma once

#include <string_view>

namespace shardlab {

// Whether JAX runs a function of its library op by op where nobody jits what calls it. Source: unjitted.inc, which make_unjitted.py
// makes from JAX 0.10.
bool is_unjitted(std::string_view op);
// Whether it hands its arguments to a jitted function that stays one in whatever is traced around it, or to one that is inlined there.
// Source: traced_apart.inc and inlined.inc, of the same origin.
bool is_traced_apart(std::string_view op);
bool is_inlined(std::string_view op);

}  // namespace shardlab
