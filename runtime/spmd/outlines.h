// What JAX's expansion of an elementwise op does with its operands, as far as propagation sees it: which values meet, in which order.
//
// An outline is a text of steps; values count from 0 on, the operands first. "0,3" makes the next value of the values 0 and 3, element by
// element; "-0,3" too, but by an op that propagation comes to later (a join, a sum over a dimension that only the expansion has). "~" makes
// the next value, too: one that a loop carries and gives; "5=1,9" ends that loop: 5 began as 1 and became 9 (or of what else may come
// there). The result is what the last step names, or 5 where ">5" ends the text.
#pragma once

#include <string_view>
#include <vector>

namespace shardlab::spmd {

struct OutlineStep {
  enum class Kind : std::uint8_t { kMeet, kMeetLater, kCarried, kLoopEnd };
  Kind kind = Kind::kMeet;
  int made = 0;                // the value that it makes, or in which its loop ends
  std::vector<int> from = {};  // values
};

// Of an op by its name, and by what its first operand is made of, since JAX expands some otherwise for integers (pow); empty: one step, as
// for most. make_outlines.py beside this file writes the table from the modules that XLA hands to Shardy.
std::string_view outline_of(std::string_view op, bool of_integers = false);

// Whether JAX makes the op's results each by itself, of a value that it makes first and nobody else sees: qr, of reflections. Source:
// jax.lax.linalg (geqrf, householder_product).
constexpr bool has_hidden_first_step(std::string_view op) { return op == "qr"; }

// Whether JAX's expansion takes an operand more than once, so that nothing goes through the op before the first op priority: random_gamma,
// whose steps pass shardings from its parameters to its numbers. Source: _gamma_one of jax.random.
constexpr bool takes_operands_often(std::string_view op) { return op == "random_gamma"; }

struct Outline {
  std::vector<OutlineStep> steps;
  int result = 0;  // a value
};

// Of an op of so many operands. A broken outline is a failed check.
Outline read_outline(std::string_view text, int operands);

}  // namespace shardlab::spmd
