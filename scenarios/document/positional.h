// Attributes of ops that a statement may give by position, as a call of the function of jax.numpy does: {"op": "sum", "args": ["x", 0]}.
#pragma once

#include <span>
#include <string_view>

namespace shardlab::scenarios {

// After `operands` operands come these attributes, in the order of the function's parameters; "" is a parameter that the op lacks.
struct Positional {
  std::string_view op;
  std::size_t operands = 1;
  std::span<const std::string_view> attributes;
};

// Nothing: the op takes its attributes by name alone.
const Positional* positional_of(std::string_view op);
std::span<const Positional> all_positional();

}  // namespace shardlab::scenarios
